#include "resctrlfs/control_values.h"

#include <bit>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "resctrlfs/kernel_text.h"

namespace plimsoll::resctrlfs {

uint32_t LowestRun(uint32_t mask) {
  if (mask == 0) return 0;
  const int first = std::countr_zero(mask);
  const int length = std::countr_one(mask >> first);
  return static_cast<uint32_t>(((uint64_t{1} << length) - 1) << first);
}

absl::StatusOr<uint32_t> ParseMask(const CacheLayout& cache, absl::string_view text) {
  const std::optional<uint64_t> value = ParseUnsigned(text, 16);
  if (!value) {
    return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no hexadecimal mask"));
  }
  if (*value > cache.FullMask() || (*value == 0 && cache.min_mask_bits > 0)) {
    return absl::InvalidArgumentError("The mask is empty or larger than the cache's");
  }
  const uint32_t mask = static_cast<uint32_t>(*value);
  if (!cache.sparse_masks && LowestRun(mask) != mask) {
    return absl::InvalidArgumentError(
        absl::StrFormat("The ones of mask %x are not consecutive", mask));
  }
  if (std::popcount(LowestRun(mask)) < cache.min_mask_bits) {
    return absl::InvalidArgumentError(
        absl::StrCat("A mask needs ", cache.min_mask_bits, " bits or more"));
  }
  return mask;
}

absl::StatusOr<uint32_t> ParseBandwidth(const BandwidthLayout& bandwidth, bool mbps,
                                        absl::string_view text) {
  if (!bandwidth.delay_linear && bandwidth.needs_linear) {
    return absl::InvalidArgumentError("Bandwidth with a non-linear scale can't be set");
  }
  const std::optional<uint64_t> value = ParseUnsigned(text, 10, UINT32_MAX);
  if (!value) return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no bandwidth"));
  if (mbps) return static_cast<uint32_t>(*value);
  if (*value < bandwidth.min_bandwidth || *value > bandwidth.max_bandwidth) {
    return absl::InvalidArgumentError(absl::StrCat("Bandwidth ", *value, " is outside of ",
                                                   bandwidth.min_bandwidth, " to ",
                                                   bandwidth.max_bandwidth));
  }
  const uint32_t steps =
      (static_cast<uint32_t>(*value) + bandwidth.granularity - 1) / bandwidth.granularity;
  return steps * bandwidth.granularity;
}

}  // namespace plimsoll::resctrlfs
