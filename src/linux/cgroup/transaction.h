// Several control files set as one.
#ifndef PLIMSOLL_LINUX_CGROUP_TRANSACTION_H_
#define PLIMSOLL_LINUX_CGROUP_TRANSACTION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "linux/cgroup/tree.h"

namespace plimsoll::linux {

struct CgroupWrite {
  CgroupTree* tree = nullptr;
  std::string group;
  std::string file;
  // Several lines are written one by one, as nested keyed files ("8:0 rbps=1") need it.
  std::string value;
};

// Writes in the order given. When one is refused, sets those before it back in reverse order: each
// state on the way back was legal on the way there. Returns the error of the refused write, with
// any failures to set back. Files that hold the value already are not written.
absl::Status WriteAllOrNothing(const std::vector<CgroupWrite>& writes);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_TRANSACTION_H_
