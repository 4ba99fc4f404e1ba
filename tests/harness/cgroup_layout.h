// The version of this machine's control groups: v1 or v2.
#ifndef PLIMSOLL_TESTS_HARNESS_CGROUP_LAYOUT_H_
#define PLIMSOLL_TESTS_HARNESS_CGROUP_LAYOUT_H_

#include "harness/kernel.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::testing {

// False on v1, and where v2 is mounted beside it.
inline bool IsV2() {
  return Cgroups().layout() == linux::CgroupLayout::kV2;
}

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_CGROUP_LAYOUT_H_
