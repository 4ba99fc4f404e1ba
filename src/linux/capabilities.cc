#include "linux/capabilities.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

constexpr char kStatus[] = "proc/self/status";

absl::StatusOr<CapabilityMask> MaskAfter(const FsRoot& host, absl::string_view status,
                                         absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(status, '\n')) {
    CapabilityMask mask = 0;
    if (absl::ConsumePrefix(&line, key) &&
        absl::SimpleHexAtoi(absl::StripAsciiWhitespace(line), &mask)) {
      return mask;
    }
  }
  return absl::DataLossError(absl::StrCat(host.PathOf(kStatus), ": no line ", key));
}

}  // namespace

absl::StatusOr<OwnCapabilitySets> ReadOwnCapabilities(const FsRoot& host) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string status, host.Read(kStatus));
  OwnCapabilitySets sets;
  PLIMSOLL_ASSIGN_OR_RETURN(sets.effective, MaskAfter(host, status, "CapEff:"));
  PLIMSOLL_ASSIGN_OR_RETURN(sets.bounding, MaskAfter(host, status, "CapBnd:"));
  return sets;
}

absl::StatusOr<bool> HasCapability(const FsRoot& host, int capability) {
  if (capability < 0 || capability > 63) {
    return absl::InvalidArgumentError(absl::StrCat("no capability has the number ", capability));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const OwnCapabilitySets own, ReadOwnCapabilities(host));
  return (own.effective >> capability & 1) != 0;
}

}  // namespace plimsoll::linux
