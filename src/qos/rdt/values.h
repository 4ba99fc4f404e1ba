// Values of the rdt file, from text.
#ifndef PLIMSOLL_QOS_RDT_VALUES_H_
#define PLIMSOLL_QOS_RDT_VALUES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qos/rdt/config.h"

namespace plimsoll::qos {

// "0", "0-2", "0,4-7": ascending and without doubles. Cache ids have 32 bits and need not be dense,
// so a range is limited (4096), not the ids. INVALID_ARGUMENT.
absl::StatusOr<std::vector<uint64_t>> ParseRdtCacheIds(absl::string_view text);

// "60%", "50-60%", "0x3f0", "4-9", "0,1": INVALID_ARGUMENT says what would be right. `where` is
// left empty.
absl::StatusOr<RdtCacheShare> ParseRdtCacheShare(absl::string_view text);

// "50%" or "1000MBps", into the member of that unit, or into its error why it can't be. What is not
// used is INVALID_ARGUMENT, whose words say why: another unit, or a second value of one.
absl::Status ParseRdtBandwidth(absl::string_view text, RdtBandwidthAllocation& allocation);

}  // namespace plimsoll::qos

#endif  // PLIMSOLL_QOS_RDT_VALUES_H_
