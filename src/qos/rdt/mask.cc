#include "qos/rdt/mask.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace plimsoll::qos {
namespace {

absl::StatusOr<uint64_t> OverlayMask(const RdtCacheShare& share, uint64_t base, uint64_t min_bits,
                                     bool sparse) {
  const int shift = std::countr_zero(base);
  const uint64_t shifted = share.mask << shift;
  if (shifted >> shift != share.mask || (shifted & ~base) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", share.text, "\" (0x", absl::Hex(share.mask), " from way ", shift,
                     " on) is not inside its partition's 0x", absl::Hex(base),
                     "; a class's mask counts from the lowest way of its partition"));
  }
  const std::string why = WhyNoCacheMask(shifted, base, min_bits, sparse);
  if (!why.empty()) return absl::InvalidArgumentError(absl::StrCat("\"", share.text, "\" ", why));
  return shifted;
}

}  // namespace

bool IsContiguous(uint64_t mask) {
  return mask != 0 &&
         std::popcount(mask) + std::countr_zero(mask) == static_cast<int>(std::bit_width(mask));
}

uint64_t MaskOf(uint64_t first, uint64_t count) {
  const uint64_t ones = count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  return count == 0 ? 0 : ones << first;
}

absl::StatusOr<std::vector<uint64_t>> DivideCache(const std::vector<uint64_t>& percents,
                                                  uint64_t cbm_mask, uint64_t min_bits) {
  const uint64_t percent_total = std::accumulate(percents.begin(), percents.end(), uint64_t{0});
  const auto ways = static_cast<uint64_t>(std::popcount(cbm_mask));
  const uint64_t total = percent_total * ways / 100;
  std::vector<size_t> smallest_first(percents.size());
  std::iota(smallest_first.begin(), smallest_first.end(), size_t{0});
  std::stable_sort(smallest_first.begin(), smallest_first.end(),
                   [&](size_t a, size_t b) { return percents[a] < percents[b]; });

  std::vector<uint64_t> counts(percents.size());
  uint64_t available = total;
  for (size_t i = 0; i < smallest_first.size(); ++i) {
    if (available < std::max<uint64_t>(min_bits, 1)) {
      return absl::ResourceExhaustedError(absl::StrCat(percent_total, "% of ", ways, " ways are ",
                                                       total, ", too few for ", percents.size(),
                                                       " partitions of at least ", min_bits));
    }
    uint64_t& count = counts[smallest_first[i]];
    if (i + 1 == smallest_first.size()) {
      count = available;
    } else {
      const uint64_t percent_available = available * percent_total / total;
      count = percents[smallest_first[i]] * available / percent_available;
      count = std::min(std::max(count, min_bits), available);
    }
    available -= count;
  }

  std::vector<uint64_t> masks;
  auto first = static_cast<uint64_t>(std::countr_zero(cbm_mask));
  for (const uint64_t count : counts) {
    masks.push_back(MaskOf(first, count));
    first += count;
  }
  return masks;
}

absl::StatusOr<uint64_t> OverlayCache(const RdtCacheShare& share, uint64_t base, uint64_t min_bits,
                                      bool sparse) {
  if (share.kind == RdtCacheShare::Kind::kMask) return OverlayMask(share, base, min_bits, sparse);
  if (share.high_percent == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", share.text, "\" is nothing at all; 1% is the least"));
  }
  if (!IsContiguous(base)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", share.text, "\": the partition's mask 0x", absl::Hex(base),
                     " has gaps, so it has no percentages; write a mask, or give the partition one "
                     "without gaps"));
  }
  const auto ways = static_cast<uint64_t>(std::popcount(base));
  const uint64_t low = std::max<uint64_t>(share.low_percent, 1);
  uint64_t lsb = (low - 1) * ways / 100;
  uint64_t msb = (share.high_percent - 1) * ways / 100;
  uint64_t missing = min_bits - std::min(min_bits, msb - lsb + 1);
  const uint64_t down = std::min(missing, lsb);
  lsb -= down;
  missing -= down;
  msb = std::min(msb + missing, ways - 1);
  return MaskOf(lsb, msb - lsb + 1) << std::countr_zero(base);
}

std::string WhyNoCacheMask(uint64_t mask, uint64_t cbm_mask, uint64_t min_bits, bool sparse) {
  if ((mask & ~cbm_mask) != 0) {
    return absl::StrCat("is not inside the cache's ways 0x", absl::Hex(cbm_mask));
  }
  if (!sparse && !IsContiguous(mask)) {
    return "has gaps, and the machine's caches don't allow gaps; one block of ones is right";
  }
  if (static_cast<uint64_t>(std::popcount(mask)) < min_bits) {
    return absl::StrCat("has fewer ways than the machine's least, ", min_bits);
  }
  return "";
}

}  // namespace plimsoll::qos
