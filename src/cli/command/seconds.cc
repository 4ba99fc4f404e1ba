#include "cli/command/seconds.h"

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace plimsoll::cli {

CLI::Validator Seconds() {
  return CLI::Validator(
      [](std::string& text) {
        int64_t seconds = 0;
        if (absl::SimpleAtoi(text, &seconds) && seconds >= 0) return std::string();
        absl::Duration duration;
        if (absl::ParseDuration(text, &duration) && duration >= absl::ZeroDuration() &&
            duration < absl::InfiniteDuration()) {
          text = absl::StrCat(absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))));
          return std::string();
        }
        return absl::StrCat("\"", text, "\" is no time of 0 or more: seconds (5), or 5s, 1m30s");
      },
      "");
}

}  // namespace plimsoll::cli
