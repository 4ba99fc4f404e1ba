// A sandbox's place on the machine: pinned namespaces, the pod's /dev/shm and its /etc files, all
// below <run>/sandboxes/<id>/.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_SANDBOX_PLACE_H_
#define PLIMSOLL_RUNTIME_OBJECTS_SANDBOX_PLACE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "runtime/objects/pod_sysctls.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// Makes the sandbox's place. After a failure, RemoveSandboxPlace removes the part that was made.
// `run` lies on a private mount point. `file_label`: SELinux label of files for containers; empty:
// none.
absl::Status MakeSandboxPlace(const FsRoot& host, const FsRoot& run, const std::string& id,
                              const SandboxSpec& spec, const NetworkRights& rights,
                              const std::string& file_label);

// Maps the pod's host name to `addresses` in its containers' /etc/hosts. For a pod with a network
// of its own, before it has containers.
absl::Status WriteHosts(const FsRoot& host, const FsRoot& run, const std::string& id,
                        const SandboxSpec& spec, const std::vector<std::string>& addresses,
                        const std::string& file_label);

// Releases namespaces and mounts; the /etc files stay until removal. OK if that is done already.
absl::Status ReleaseSandboxPlace(const FsRoot& host, const FsRoot& run, const std::string& id);

// Releases and removes the whole place.
absl::Status RemoveSandboxPlace(const FsRoot& host, const FsRoot& run, const std::string& id);

// The part of the sandbox's namespaces that is pinned. An error: it could not be inspected.
enum class PlaceState { kNone, kPart, kWhole };  // kWhole also if it has none of its own
absl::StatusOr<PlaceState> LookAtSandboxPlace(const FsRoot& run, const std::string& id,
                                              const SandboxSpec& spec);

// Path of the sandbox's network namespace, below `run`; empty: it has none of its own.
std::string NetworkNamespaceOf(const std::string& id, const SandboxSpec& spec);

// The members of the sandbox's place that its containers get.
SandboxPlace PlaceOf(const FsRoot& run, const std::string& id, const SandboxSpec& spec);

// Directory of the pod's picture, below `run`. It holds that file alone, so that containers that
// mount the directory see the file replaced.
std::string PictureDirectoryOf(const std::string& id);
inline constexpr char kPictureFile[] = "pod-resources.json";
// Opens the directory of the pod's picture, and makes it if need be. NOT_FOUND when the sandbox has
// no place (any more).
absl::StatusOr<FsRoot> OpenPictureDirectory(const FsRoot& run, const std::string& id);

// Paths below `run` of three files: the total requirements of a pod with fixed resources at its
// creation, the input of a runtime handler's update command, and a virtual machine's CDI devices
// (runtime/requests/kept_devices.h).
std::string AnnouncedFileOf(const std::string& id);
std::string WantedFileOf(const std::string& id);
std::string KeptDevicesFileOf(const std::string& id);

// Path below `run` of a file that exists if the sandbox was stopped and its row could not be
// updated.
std::string StoppedFileOf(const std::string& id);

// The pod's name for people: "default/web".
std::string FullName(const SandboxSpec& spec);

// The host name that processes of the pod see; empty: the host's own.
std::string HostnameOf(const SandboxSpec& spec);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_SANDBOX_PLACE_H_
