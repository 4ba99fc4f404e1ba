// Facts about a thread of another process, from /proc.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_THREADS_H_
#define PLIMSOLL_TESTS_RESCTRLFS_THREADS_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "linux/process.h"

namespace plimsoll::resctrlfs {

class Threads {
 public:
  // `host`: the root that has proc/ and the cgroup mounts.
  explicit Threads(FsRoot host);

  // nullopt when there is no such thread.
  std::optional<linux::ProcessId> Identify(pid_t thread) const;
  // Time since its fork; a multiple of 10 ms, rounded up by less than one.
  static absl::Duration Age(const linux::ProcessId& thread);
  // Whether it sleeps in the freezer (cgroup v1 or v2). The kernel reports a group as frozen only
  // when none of its threads is in the middle of anything, such as a fork.
  bool IsFrozen(pid_t thread) const;
  // The path of its group in a cgroup v1 hierarchy: "freezer", "name=x". Empty with "" for v2's.
  // nullopt: no such thread or hierarchy.
  std::optional<std::string> CgroupOf(pid_t thread, absl::string_view hierarchy) const;
  // Whether a user may move it to another group: root, or the user of its real or saved uid.
  bool MayMove(uid_t uid, pid_t thread) const;

 private:
  FsRoot host_;
  std::string freezer_;  // mount point of v1's freezer, empty if there is none
  std::string unified_;  // of cgroup v2
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_THREADS_H_
