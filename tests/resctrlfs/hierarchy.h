// A cgroup v1 hierarchy without controllers: a table of threads kept by the kernel, which enters
// forked children before they run. It is thread-granular, as resctrl is.
//
// It is mounted nowhere (fsmount(2)): only this program has it, and its mount goes with the
// program. Its groups don't, so a killed program's must be removed by name. One program at a time
// does that: mounting a hierarchy that another has just released makes it again (the likely reason,
// by reading).
#ifndef PLIMSOLL_TESTS_RESCTRLFS_HIERARCHY_H_
#define PLIMSOLL_TESTS_RESCTRLFS_HIERARCHY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll::resctrlfs {

class Hierarchy {
 public:
  // Makes it, or opens an existing one. Needs root in the machine's own cgroup namespace.
  static absl::StatusOr<Hierarchy> Open(const std::string& name);
  // Whether the machine has it. `host`: the root that has proc/.
  static bool Exists(const FsRoot& host, const std::string& name);
  // Gives all its threads back, removes its groups and waits until the kernel has forgotten it. OK
  // when there is none.
  static absl::Status Destroy(const FsRoot& host, const std::string& name);

  const std::string& name() const { return name_; }
  // The hierarchy's top directory.
  const FsRoot& root() const { return root_; }
  // Moves every thread of a group ("." is the top), those forked meanwhile included.
  absl::Status MoveAll(const std::string& from, const std::string& to) const;
  // Removes an empty group; waits while the kernel says that an ended thread keeps it busy.
  absl::Status Remove(const std::string& group) const;

 private:
  Hierarchy(std::string name, FsRoot root) : name_(std::move(name)), root_(std::move(root)) {}

  std::string name_;
  FsRoot root_;
};

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_HIERARCHY_H_
