#include "resources/shares.h"

#include "linux/cgroup/cgroup.h"

namespace plimsoll::resources {

bool AreOneWeight(uint64_t shares, uint64_t other) {
  return linux::CpuSharesToWeight(shares) == linux::CpuSharesToWeight(other);
}

}  // namespace plimsoll::resources
