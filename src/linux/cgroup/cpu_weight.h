// cpu.weight of cgroup v2 from the CPU shares of cgroup v1, and back.
//
// Two formulas are in use. An OCI runtime writes a container's weight by one of them, and which one
// depends on its version. CgroupManager itself goes by the linear one (CpuSharesToWeight in
// cgroup.h): every weight has shares there, so those can stand for a weight of the other formula.
#ifndef PLIMSOLL_LINUX_CGROUP_CPU_WEIGHT_H_
#define PLIMSOLL_LINUX_CGROUP_CPU_WEIGHT_H_

#include <cstdint>

namespace plimsoll::linux {

enum class CpuWeightFormula {
  // KEP-2254: crun until 1.22, runc until 1.3.1, kubelet's groups of pods (1.36 too). 1024 shares
  // are weight 39.
  kLinear,
  // Keeps the least, the default and the greatest value: crun from 1.23, runc from 1.3.2. 1024
  // shares are weight 100.
  kQuadratic,
};

// Shares (2 to 262144) to weight (1 to 10000). Values outside are clamped.
uint64_t CpuSharesToWeight(uint64_t shares, CpuWeightFormula formula);
// The least shares of that weight, so that weight -> shares -> weight changes nothing.
uint64_t CpuWeightToShares(uint64_t weight, CpuWeightFormula formula);

// Whether the shares make this weight by either formula.
bool IsCpuWeightOf(uint64_t weight, uint64_t shares);

// The shares for CgroupManager::Apply on v2 with which the group's weight is what `formula` makes
// of `shares`.
uint64_t SharesToApply(uint64_t shares, CpuWeightFormula formula);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_CPU_WEIGHT_H_
