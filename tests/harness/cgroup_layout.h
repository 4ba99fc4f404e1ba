// The version of this machine's control groups: v1 or v2.
#ifndef PLIMSOLL_TESTS_HARNESS_CGROUP_LAYOUT_H_
#define PLIMSOLL_TESTS_HARNESS_CGROUP_LAYOUT_H_

#include "harness/kernel.h"
#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/cpu_weight.h"

namespace plimsoll::testing {

// False on v1, and where v2 is mounted beside it.
inline bool IsV2() {
  return Cgroups().layout() == linux::CgroupLayout::kV2;
}

// Whether a group holds these shares: `read` is CgroupManager::Read's number. On v2 it stands for a
// weight, which the OCI runtime makes by one of two formulas.
inline bool HoldsShares(uint64_t read, uint64_t asked) {
  return IsV2() ? linux::IsCpuWeightOf(linux::CpuSharesToWeight(read), asked) : read == asked;
}

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_CGROUP_LAYOUT_H_
