// One mounted cgroup hierarchy, and every effect that Plimsoll has on it.
#ifndef PLIMSOLL_LINUX_CGROUP_TREE_H_
#define PLIMSOLL_LINUX_CGROUP_TREE_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::linux {

// Groups have CgroupManager's normalised names ("/a/b"). Thread-safe.
//
// Read, Write, Make and Remove are virtual so that a test can put itself between the code and a
// tree of plain files: it refuses the n-th call, or behaves as the kernel does.
class CgroupTree {
 public:
  explicit CgroupTree(FsRoot mount) : mount_(std::move(mount)) {}
  virtual ~CgroupTree() = default;

  // Content of a control file without surrounding white space. NOT_FOUND when the group or the file
  // is missing.
  virtual absl::StatusOr<std::string> Read(absl::string_view group, absl::string_view file) const;
  // Writes an empty value as a newline: the kernel doesn't see a write of nothing.
  virtual absl::Status Write(absl::string_view group, absl::string_view file,
                             absl::string_view value);
  // Moves the calling thread through one of the group's files "tasks" or "cgroup.threads".
  absl::Status MoveCaller(absl::string_view group, absl::string_view file);
  // ALREADY_EXISTS when it exists; NOT_FOUND without the parent.
  virtual absl::Status Make(absl::string_view group);
  // Removes only the group itself. OK when it doesn't exist; FAILED_PRECONDITION (EBUSY) when in
  // use.
  virtual absl::Status Remove(absl::string_view group);

  absl::StatusOr<bool> Exists(absl::string_view group) const;
  bool HasFile(absl::string_view group, absl::string_view file) const;
  // The group and all below it, innermost first. Empty when it doesn't exist.
  absl::StatusOr<std::vector<std::string>> Subtree(absl::string_view group) const;
  // Names in the group's directory, sorted.
  absl::StatusOr<std::vector<std::string>> Files(absl::string_view group) const;
  // For messages.
  std::string PathOf(absl::string_view group, absl::string_view file = "") const;

 private:
  const FsRoot mount_;
};

// One hierarchy and its controllers.
struct CgroupHierarchy {
  std::shared_ptr<CgroupTree> tree;
  std::vector<std::string> controllers;  // empty: a named hierarchy ("name=systemd")
};

// The calling thread's group in the hierarchy that has the controller, "" for the v2 one.
absl::StatusOr<std::string> ReadOwnGroup(const FsRoot& host, absl::string_view controller);
// "/", "/a", "/a/b" for "/a/b".
std::vector<std::string> GroupAndParents(absl::string_view group);
// "/a" for "/a/b", "/" for "/a".
std::string ParentGroup(absl::string_view group);

// Fills in the group's pressure, where the files exist and can be read (after a boot with psi=0
// they can't).
void ReadPressure(const CgroupTree& tree, const std::string& group, CgroupStats& stats);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_TREE_H_
