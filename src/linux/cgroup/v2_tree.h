// The v2 hierarchy, whose cpusets can't be emptied while processes are in them.
#ifndef PLIMSOLL_LINUX_CGROUP_V2_TREE_H_
#define PLIMSOLL_LINUX_CGROUP_V2_TREE_H_

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::linux {

// An empty "cpuset.cpus" or "cpuset.mems" means "as the parent", but the kernel lets only a group
// without processes become empty: others get ENOSPC (validate_change in kernel/cgroup/cpuset.c).
// The list of all possible CPUs or nodes means the same, also for those plugged in later: this
// class writes that list instead, and reads it as empty. Thread-safe.
class CgroupV2Tree : public CgroupTree {
 public:
  CgroupV2Tree(FsRoot mount, FsRoot host) : CgroupTree(std::move(mount)), host_(std::move(host)) {}

  absl::StatusOr<std::string> Read(absl::string_view group, absl::string_view file) const override;
  absl::Status Write(absl::string_view group, absl::string_view file,
                     absl::string_view value) override;

 private:
  // The machine's possible CPUs or memory nodes, for a cpuset's file; empty for other files, or if
  // unknown.
  std::string AllOf(absl::string_view file) const;

  const FsRoot host_;
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_V2_TREE_H_
