#include "agent/topology_manager/superset_counts.h"

#include <cstddef>
#include <cstring>

namespace plimsoll::agent {
namespace {

// Four counts at once: a compiler makes no vector instructions of these loops by itself at -O2.
using Lane [[gnu::vector_size(16)]] = uint32_t;
constexpr size_t kLane = sizeof(Lane) / sizeof(uint32_t);

template <typename Combine>
void CombineHalves(uint32_t* counts, size_t half, Combine combine) {
  if (half < kLane) {
    for (size_t i = 0; i < half; ++i) combine(counts[i], counts[half + i]);
    return;
  }
  for (size_t i = 0; i < half; i += kLane) {
    Lane less, more;
    std::memcpy(&less, counts + i, sizeof(less));
    std::memcpy(&more, counts + half + i, sizeof(more));
    combine(less, more);
    std::memcpy(counts + i, &less, sizeof(less));
  }
}

// Calls `combine` with each count and that of the same set with one node more, node by node; by
// halves, so that most of it happens in the processor's first cache.
template <typename Combine>
void ForEachStep(uint32_t* counts, size_t size, Combine combine) {
  if (size == 1) return;
  if (size == kLane) {
    combine(counts[0], counts[1]);
    combine(counts[2], counts[3]);
    combine(counts[0], counts[2]);
    combine(counts[1], counts[3]);
    return;
  }
  const size_t half = size / 2;
  ForEachStep(counts, half, combine);
  ForEachStep(counts + half, half, combine);
  CombineHalves(counts, half, combine);
}

}  // namespace

SupersetCounts::SupersetCounts(const SetTable& table)
    : numbers_(table.numbers()), counts_(numbers_.count()) {
  for (size_t number = 0; number < counts_.size(); ++number) {
    counts_[number] = table.Has(number) ? 1 : 0;
  }
  ForEachStep(counts_.data(), counts_.size(), [](auto& count, auto more) { count += more; });
}

// A set is in as many pairs' intersections as there are pairs of supersets. Either side has at most
// 2^15 sets that contain a set that isn't empty: no overflow.
void SupersetCounts::Multiply(const SupersetCounts& others) {
  for (size_t number = 0; number < counts_.size(); ++number) {
    counts_[number] *= others.counts_[number];
  }
}

// Taking the supersets' counts off again (Möbius inversion) leaves how often each set is there.
SetTable SupersetCounts::Table() && {
  ForEachStep(counts_.data(), counts_.size(), [](auto& count, auto more) { count -= more; });
  SetTable table(numbers_);
  for (size_t number = 1; number < counts_.size(); ++number) {
    if (counts_[number] != 0) table.AddNumber(number);
  }
  return table;
}

}  // namespace plimsoll::agent
