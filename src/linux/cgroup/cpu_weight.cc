#include <algorithm>

#include "linux/cgroup/cgroup.h"

namespace plimsoll::linux {
namespace {

constexpr uint64_t kMinShares = 2;
constexpr uint64_t kMaxShares = 262144;
constexpr uint64_t kMaxWeight = 10000;

}  // namespace

uint64_t CpuSharesToWeight(uint64_t shares) {
  shares = std::clamp(shares, kMinShares, kMaxShares);
  return 1 + (shares - kMinShares) * (kMaxWeight - 1) / (kMaxShares - kMinShares);
}

// Rounds up where the other direction rounds down: the smallest shares that give this weight, so
// that writing a value just read doesn't change the weight.
uint64_t CpuWeightToShares(uint64_t weight) {
  weight = std::clamp<uint64_t>(weight, 1, kMaxWeight);
  const uint64_t scaled = (weight - 1) * (kMaxShares - kMinShares);
  return kMinShares + (scaled + kMaxWeight - 2) / (kMaxWeight - 1);
}

}  // namespace plimsoll::linux
