// User namespaces, and checks for id-mapped mounts.
#ifndef PLIMSOLL_LINUX_NAMESPACES_USER_NAMESPACE_H_
#define PLIMSOLL_LINUX_NAMESPACES_USER_NAMESPACE_H_

#include <sys/types.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "linux/namespaces/id_mapping.h"

namespace plimsoll::linux {

// A process that sleeps in a user namespace of its own, so that /proc/<pid>/ns shows it. It ends
// with this object, and with this process too. Movable.
class NamespaceHolder {
 public:
  // `flags`: CLONE_NEWNET and the like; the user namespace owns the namespaces they make. Both
  // mappings must have an id 0 (CheckIdMappings). RESOURCE_EXHAUSTED when the kernel's limit of
  // namespaces is reached.
  static absl::StatusOr<NamespaceHolder> Start(const std::vector<IdMapping>& uids,
                                               const std::vector<IdMapping>& gids, int flags);
  NamespaceHolder(NamespaceHolder&& other) noexcept;
  NamespaceHolder& operator=(NamespaceHolder&&) = delete;
  ~NamespaceHolder();

  pid_t pid() const { return pid_; }

 private:
  NamespaceHolder(pid_t pid, UniqueFd go) : pid_(pid), go_(std::move(go)) {}

  pid_t pid_;
  UniqueFd go_;
};

// OK when an id-mapped mount can show the files in `directory` with other owners.
// FAILED_PRECONDITION names the obstacle: the kernel, or the file system.
absl::Status CheckIdMappedMounts(const FsRoot& directory);

// True when the kernel has mount_setattr(2): Linux 5.12. Without it, mounts below a mount can't be
// made read-only together with it.
bool HasMountSetattr();

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_NAMESPACES_USER_NAMESPACE_H_
