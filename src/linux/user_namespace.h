// User namespaces, and whether id-mapped mounts work.
#ifndef PLIMSOLL_LINUX_USER_NAMESPACE_H_
#define PLIMSOLL_LINUX_USER_NAMESPACE_H_

#include <sys/types.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "linux/id_mapping.h"

namespace plimsoll::linux {

// A process that sleeps in a user namespace of its own, so that /proc/<pid>/ns shows it, and ends
// with this object; with this process too. Movable.
class NamespaceHolder {
 public:
  // `flags`: CLONE_NEWNET and the like, made in the user namespace and so owned by it. Both
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

// Whether what is in `directory` can be shown with other owners (an id-mapped mount of it).
// FAILED_PRECONDITION says why not: the kernel, or the file system.
absl::Status CheckIdMappedMounts(const FsRoot& directory);

// Whether mount_setattr(2) is there, without which mounts below a mount can't be made read-only
// with it: Linux 5.12.
bool HasMountSetattr();

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_USER_NAMESPACE_H_
