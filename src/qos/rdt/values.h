// Parsers of the rdt file's values.
#ifndef PLIMSOLL_QOS_RDT_VALUES_H_
#define PLIMSOLL_QOS_RDT_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qos/rdt/config.h"

namespace plimsoll::qos {

// "0", "0-2", "0,4-7": ascending and without duplicates. Cache ids have 32 bits and need not be
// dense, so the length of a range is limited (4096), not the ids. INVALID_ARGUMENT.
absl::StatusOr<std::vector<uint64_t>> ParseRdtCacheIds(absl::string_view text);

// "60%", "50-60%", "0x3f0", "4-9", "0,1": INVALID_ARGUMENT names the valid forms. `where` is left
// empty.
absl::StatusOr<RdtCacheShare> ParseRdtCacheShare(absl::string_view text);

// Parses "50%" or "1000MBps" into the member of that unit or, if invalid, into that unit's error.
// INVALID_ARGUMENT for an unused value: another unit, or a second value of one.
absl::Status ParseRdtBandwidth(absl::string_view text, RdtBandwidthAllocation& allocation);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_VALUES_H_
