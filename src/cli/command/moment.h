// A moment in the past, as the user types it.
#ifndef PLIMSOLL_CLI_COMMAND_MOMENT_H_
#define PLIMSOLL_CLI_COMMAND_MOMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plimsoll::cli {

// The forms that ReadMoment takes, for help and errors.
inline constexpr char kMomentForms[] =
    "a time ago (10m, 1h30m) or a time (2026-11-21T03:10:53Z; without a zone: of this machine's "
    "clock)";

// Parses a duration before `now`, or RFC 3339. Without a zone it is this machine's, without a time
// of day it is midnight. The usage error names `option`.
absl::StatusOr<absl::Time> ReadMoment(absl::string_view option, const std::string& text,
                                      absl::Time now);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_COMMAND_MOMENT_H_
