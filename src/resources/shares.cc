#include "resources/shares.h"

#include "linux/cgroup/cpu_weight.h"

namespace plimsoll::resources {

bool MayBeReported(uint64_t reported, uint64_t asked) {
  if (reported == asked) return true;
  using Formula = linux::CpuWeightFormula;
  for (const Formula written : {Formula::kLinear, Formula::kQuadratic}) {
    const uint64_t weight = linux::CpuSharesToWeight(asked, written);
    for (const Formula read : {Formula::kLinear, Formula::kQuadratic}) {
      const uint64_t least = linux::CpuWeightToShares(weight, read);
      if (reported == least || reported + 1 == least) return true;
    }
  }
  return false;
}

}  // namespace plimsoll::resources
