#include "cli/command/moment.h"

#include "absl/strings/str_cat.h"
#include "cli/terminal/errors.h"

namespace plimsoll::cli {

absl::StatusOr<absl::Time> ReadMoment(absl::string_view option, const std::string& text,
                                      absl::Time now) {
  absl::Duration ago;
  if (absl::ParseDuration(text, &ago) && ago >= absl::ZeroDuration()) return now - ago;
  absl::Time time;
  for (const char* format :
       {"%Y-%m-%d%ET%H:%M:%E*S%Ez", "%Y-%m-%d%ET%H:%M:%E*S", "%Y-%m-%d %H:%M:%E*S", "%Y-%m-%d"}) {
    if (absl::ParseTime(format, text, absl::LocalTimeZone(), &time, nullptr)) return time;
  }
  return UsageError(
      absl::InvalidArgumentError(absl::StrCat(option, ": \"", text, "\" is not ", kMomentForms)));
}

}  // namespace plimsoll::cli
