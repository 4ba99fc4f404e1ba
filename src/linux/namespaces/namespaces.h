// Namespaces that live without a process: pinned by bind mounts.
#ifndef PLIMSOLL_LINUX_NAMESPACES_NAMESPACES_H_
#define PLIMSOLL_LINUX_NAMESPACES_NAMESPACES_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "linux/namespaces/id_mapping.h"

namespace plimsoll::linux {

// The namespaces of a pod sandbox.
struct NamespaceRequest {
  bool network = false;
  bool ipc = false;
  bool uts = false;
  std::string hostname;                        // set in the new UTS namespace; at most 64 bytes
  std::map<std::string, std::string> sysctls;  // "net.ipv4.ip_forward" or with slashes
  // Mappings of a user namespace that owns all the others; both empty: the host's user namespace.
  std::vector<IdMapping> uids;
  std::vector<IdMapping> gids;
};

// Makes the requested namespaces, sets hostname and sysctls in them, brings the loopback interface
// up, and pins each as <directory>/net, /ipc, /uts, /user. `directory` must exist and lie on a
// private mount. INVALID_ARGUMENT for sysctls that are not namespaced, or whose namespace is the
// host's here. On failure nothing is left. Thread-safe: works in a thread of its own.
absl::Status PinNamespaces(const FsRoot& directory, const NamespaceRequest& request);

// True when <directory>/<name> ("net", "ipc", "uts", "user", "pid") is a pinned namespace. An error
// means only that this is unknown.
absl::StatusOr<bool> IsPinned(const FsRoot& directory, const char* name);

// Pins the PID namespace of a process as <directory>/pid. Such a namespace takes new processes only
// while its init lives, so keep that alive beside it. ALREADY_EXISTS.
absl::Status PinPidNamespace(const FsRoot& directory, pid_t pid);

// Removes the pins of PinNamespaces and PinPidNamespace. OK for missing ones.
absl::Status UnpinNamespaces(const FsRoot& directory);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NAMESPACES_NAMESPACES_H_
