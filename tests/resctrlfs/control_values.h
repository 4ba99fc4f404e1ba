// Parsers of the values in a schemata line: capacity bit masks and bandwidths.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_CONTROL_VALUES_H_
#define PLIMSOLL_TESTS_RESCTRLFS_CONTROL_VALUES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resctrlfs/layout.h"

namespace plimsoll::resctrlfs {

// A hexadecimal mask that is valid for the cache: inside it, one run of ones unless the cache takes
// sparse masks, at least min_mask_bits in the (first) run. The message of INVALID_ARGUMENT is for
// last_cmd_status.
absl::StatusOr<uint32_t> ParseMask(const CacheLayout& cache, absl::string_view text);

// A decimal bandwidth, rounded up to the next multiple of the granularity. With mba_MBps any value
// of 32 bits is taken as it is.
absl::StatusOr<uint32_t> ParseBandwidth(const BandwidthLayout& bandwidth, bool mbps,
                                        absl::string_view text);

// The lowest run of ones of `mask`; other bits are cleared.
uint32_t LowestRun(uint32_t mask);

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_CONTROL_VALUES_H_
