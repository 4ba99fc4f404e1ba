#include "linux/apparmor.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plimsoll::linux {

bool HasAppArmor(const FsRoot& root) {
  const auto enabled = root.Read("sys/module/apparmor/parameters/enabled");
  return enabled.ok() && absl::StartsWith(*enabled, "Y");
}

absl::StatusOr<bool> IsProfileLoaded(const FsRoot& root, absl::string_view name) {
  const auto profiles = root.Read("sys/kernel/security/apparmor/profiles");
  if (!profiles.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat("AppArmor's loaded profiles can't be seen; is securityfs mounted at "
                     "/sys/kernel/security? (",
                     profiles.status().message(), ")"));
  }
  // A line is "name (mode)"; a name may have spaces.
  for (const absl::string_view line : absl::StrSplit(*profiles, '\n')) {
    const size_t end = line.rfind(" (");
    if (end != absl::string_view::npos && line.substr(0, end) == name) return true;
  }
  return false;
}

}  // namespace plimsoll::linux
