#include "linux/cgroup/cpu_weight.h"

#include <algorithm>
#include <cmath>

#include "linux/cgroup/cgroup.h"

namespace plimsoll::linux {
namespace {

constexpr uint64_t kMinShares = 2;
constexpr uint64_t kMaxShares = 262144;
constexpr uint64_t kMaxWeight = 10000;

uint64_t LinearWeight(uint64_t shares) {
  return 1 + (shares - kMinShares) * (kMaxWeight - 1) / (kMaxShares - kMinShares);
}

// Rounds up where LinearWeight rounds down.
uint64_t LinearShares(uint64_t weight) {
  const uint64_t scaled = (weight - 1) * (kMaxShares - kMinShares);
  return kMinShares + (scaled + kMaxWeight - 2) / (kMaxWeight - 1);
}

// The decimal logarithm of the weight is a parabola of the shares' binary one, through (1, 0),
// (10, 2) and (18, 4).
uint64_t QuadraticWeight(uint64_t shares) {
  if (shares == kMinShares) return 1;
  if (shares == kMaxShares) return kMaxWeight;
  const double bits = std::log2(static_cast<double>(shares));
  return static_cast<uint64_t>(
      std::ceil(std::pow(10.0, bits * (bits + 125.0) / 612.0 - 7.0 / 34.0)));
}

// The weight rises with the shares.
uint64_t QuadraticShares(uint64_t weight) {
  uint64_t least = kMinShares;
  uint64_t enough = kMaxShares;
  while (least < enough) {
    const uint64_t middle = (least + enough) / 2;
    if (QuadraticWeight(middle) < weight) {
      least = middle + 1;
    } else {
      enough = middle;
    }
  }
  return enough;
}

}  // namespace

uint64_t CpuSharesToWeight(uint64_t shares, CpuWeightFormula formula) {
  shares = std::clamp(shares, kMinShares, kMaxShares);
  return formula == CpuWeightFormula::kLinear ? LinearWeight(shares) : QuadraticWeight(shares);
}

uint64_t CpuWeightToShares(uint64_t weight, CpuWeightFormula formula) {
  weight = std::clamp<uint64_t>(weight, 1, kMaxWeight);
  return formula == CpuWeightFormula::kLinear ? LinearShares(weight) : QuadraticShares(weight);
}

uint64_t CpuSharesToWeight(uint64_t shares) {
  return CpuSharesToWeight(shares, CpuWeightFormula::kLinear);
}

uint64_t CpuWeightToShares(uint64_t weight) {
  return CpuWeightToShares(weight, CpuWeightFormula::kLinear);
}

bool IsCpuWeightOf(uint64_t weight, uint64_t shares) {
  return weight == CpuSharesToWeight(shares, CpuWeightFormula::kLinear) ||
         weight == CpuSharesToWeight(shares, CpuWeightFormula::kQuadratic);
}

uint64_t SharesToApply(uint64_t shares, CpuWeightFormula formula) {
  if (formula == CpuWeightFormula::kLinear) return shares;
  return CpuWeightToShares(CpuSharesToWeight(shares, formula));
}

}  // namespace plimsoll::linux
