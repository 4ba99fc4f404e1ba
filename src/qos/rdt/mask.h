// Masks of cache ways: arithmetic only.
#ifndef PLIMSOLL_QOS_RDT_MASK_H_
#define PLIMSOLL_QOS_RDT_MASK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "qos/rdt/config.h"

namespace plimsoll::qos {

bool IsContiguous(uint64_t mask);
// Ones at bits `first` to `first + count - 1`; `first + count` is at most 64.
uint64_t MaskOf(uint64_t first, uint64_t count);

// Divides the ways `cbm_mask` of a cache, from the lowest up, in the order of `percents`, each at
// least 0 and 1 to 100 together. The smallest share is granted first, so that shares rounded up to
// `min_bits` find room; the largest gets the rest of the sum. Of equal ones the first comes first.
// RESOURCE_EXHAUSTED when there are too few ways.
absl::StatusOr<std::vector<uint64_t>> DivideCache(const std::vector<uint64_t>& percents,
                                                  uint64_t cbm_mask, uint64_t min_bits);

// The part of a partition's mask that a class with `share` gets. Percentages count the partition's
// ways from its lowest: n ways, from (low-1)·n/100 to (high-1)·n/100, where low 0 counts as 1; a
// result below `min_bits` is widened downward, then upward. A mask is relative to the partition's
// lowest way. INVALID_ARGUMENT when that does not fit, or is nothing at all. `base` is contiguous,
// unless `sparse`, and has at least `min_bits`.
absl::StatusOr<uint64_t> OverlayCache(const RdtCacheShare& share, uint64_t base, uint64_t min_bits,
                                      bool sparse);

// The reason why `mask` can't be written for a cache of `cbm_mask`; empty: it can.
std::string WhyNoCacheMask(uint64_t mask, uint64_t cbm_mask, uint64_t min_bits, bool sparse);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_MASK_H_
