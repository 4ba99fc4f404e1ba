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

// An empty "cpuset.cpus" or "cpuset.mems" means "as the parent", but the kernel takes it back only
// from a group without processes: with some it answers ENOSPC (validate_change in
// kernel/cgroup/cpuset.c). All that the machine could ever have means the same, also for CPUs and
// memory that are plugged in later: it is written instead, and read as empty. Thread-safe.
class CgroupV2Tree : public CgroupTree {
 public:
  CgroupV2Tree(FsRoot mount, FsRoot host) : CgroupTree(std::move(mount)), host_(std::move(host)) {}

  absl::StatusOr<std::string> Read(absl::string_view group, absl::string_view file) const override;
  absl::Status Write(absl::string_view group, absl::string_view file,
                     absl::string_view value) override;

 private:
  // What the machine could have of a cpuset's file; empty for other files, or if it isn't told.
  std::string AllOf(absl::string_view file) const;

  const FsRoot host_;
};

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_V2_TREE_H_
