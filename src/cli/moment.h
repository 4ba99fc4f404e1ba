// A moment in the past, as the user writes it.
#ifndef PLIMSOLL_CLI_MOMENT_H_
#define PLIMSOLL_CLI_MOMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plimsoll::cli {

// What ReadMoment takes, for help and errors.
inline constexpr char kMomentForms[] =
    "a time ago (10m, 1h30m) or a time (2026-11-21T03:10:53Z; without a zone: of this machine's "
    "clock)";

// A duration before `now`, or RFC 3339, whose zone and time of day may be left out: then of this
// machine's time zone, and midnight. `option` is named by the usage error.
absl::StatusOr<absl::Time> ReadMoment(absl::string_view option, const std::string& text,
                                      absl::Time now);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_MOMENT_H_
