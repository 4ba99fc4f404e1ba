// Where a sandbox lives on the machine: pinned namespaces, the pod's /dev/shm and its /etc files,
// all below <run>/sandboxes/<id>/.
#ifndef PLIMSOLL_RUNTIME_SANDBOX_PLACE_H_
#define PLIMSOLL_RUNTIME_SANDBOX_PLACE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "runtime/oci/container_runtime.h"
#include "runtime/spec/sandbox_spec.h"

namespace plimsoll::runtime {

// Makes it. After a failure there may be a part of it, for RemoveSandboxPlace. `run` lies on a
// private mount point. `file_label`: SELinux's, of what containers are given; empty: none.
absl::Status MakeSandboxPlace(const FsRoot& host, const FsRoot& run, const std::string& id,
                              const SandboxSpec& spec, const std::string& file_label);

// Has the pod's host name mean these addresses in its containers' /etc/hosts. For a pod with a
// network of its own, before there are containers.
absl::Status WriteHosts(const FsRoot& host, const FsRoot& run, const std::string& id,
                        const SandboxSpec& spec, const std::vector<std::string>& addresses,
                        const std::string& file_label);

// Lets go of namespaces and mounts; the /etc files stay until removal. OK when done already.
absl::Status ReleaseSandboxPlace(const FsRoot& host, const FsRoot& run, const std::string& id);

// Releases and removes everything.
absl::Status RemoveSandboxPlace(const FsRoot& host, const FsRoot& run, const std::string& id);

// How much of its namespaces is pinned. An error: it could not be looked at.
enum class PlaceState { kNone, kPart, kWhole };  // kWhole also where it has none of its own
absl::StatusOr<PlaceState> LookAtSandboxPlace(const FsRoot& run, const std::string& id,
                                              const SandboxSpec& spec);

// Its network namespace, below `run`; empty: it has none of its own.
std::string NetworkNamespaceOf(const std::string& id, const SandboxSpec& spec);

// What containers of the sandbox are given of it.
SandboxPlace PlaceOf(const FsRoot& run, const std::string& id, const SandboxSpec& spec);

// Where the pod's picture is written, below `run`: a directory for the file alone, so that
// containers that have it mounted see the file replaced.
std::string PictureDirectoryOf(const std::string& id);
inline constexpr char kPictureFile[] = "pod-resources.json";
// Opens it, made if need be. NOT_FOUND when the sandbox has no place (any more).
absl::StatusOr<FsRoot> OpenPictureDirectory(const FsRoot& run, const std::string& id);

// Below `run`: what a pod with fixed resources needed in all when it was made, what the update
// command of a runtime handler reads, and a virtual machine's CDI devices (kept_devices.h).
std::string AnnouncedFileOf(const std::string& id);
std::string WantedFileOf(const std::string& id);
std::string KeptDevicesFileOf(const std::string& id);

// Below `run`: there when the sandbox was stopped and its row could not be made to say so.
std::string StoppedFileOf(const std::string& id);

// "default/web", for people.
std::string FullName(const SandboxSpec& spec);

// The host name that processes of the pod see; empty: the host's own.
std::string HostnameOf(const SandboxSpec& spec);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_SANDBOX_PLACE_H_
