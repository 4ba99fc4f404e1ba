#include "qos/rdt/values.h"

#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::qos {
namespace {

constexpr uint64_t kMaxId = std::numeric_limits<uint32_t>::max();
constexpr uint64_t kMaxRange = 4096;
constexpr uint64_t kMaxMbps = std::numeric_limits<uint32_t>::max();  // the kernel's MBA_MAX_MBPS

// Hexadecimal digits only: SimpleHexAtoi takes signs, spaces and a second "0x" as well.
std::optional<uint64_t> HexNumber(absl::string_view text) {
  uint64_t value = 0;
  for (const char c : text) {
    if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) return std::nullopt;
  }
  if (!absl::SimpleHexAtoi(text, &value)) return std::nullopt;
  return value;
}

// Digits only: SimpleAtoi takes signs and spaces as well.
std::optional<uint64_t> Number(absl::string_view text) {
  uint64_t value = 0;
  for (const char c : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(c))) return std::nullopt;
  }
  if (!absl::SimpleAtoi(text, &value)) return std::nullopt;
  return value;
}

struct Range {
  uint64_t first = 0;
  uint64_t last = 0;
};

std::optional<Range> ParseRange(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> ends =
      absl::StrSplit(text, absl::MaxSplits('-', 1));
  const auto first = Number(ends.first);
  const auto last = absl::StrContains(text, '-') ? Number(ends.second) : first;
  if (!first || !last || *first > *last) return std::nullopt;
  return Range{*first, *last};
}

absl::Status Invalid(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" ", why));
}

// "0-2,5" up to `max`; every range at most kMaxRange long.
absl::StatusOr<std::set<uint64_t>> ParseList(absl::string_view text, uint64_t max,
                                             absl::string_view why) {
  std::set<uint64_t> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const auto range = ParseRange(absl::StripAsciiWhitespace(part));
    if (!range || range->last > max || range->last - range->first >= kMaxRange) {
      return Invalid(text, why);
    }
    for (uint64_t n = range->first; n <= range->last; ++n) numbers.insert(n);
  }
  return numbers;
}

absl::StatusOr<RdtCacheShare> ParsePercent(absl::string_view text) {
  RdtCacheShare share{.text = std::string(text)};
  const absl::string_view digits = text.substr(0, text.size() - 1);
  const auto range = ParseRange(digits);
  if (!range || range->last > 100) {
    return Invalid(text, "is not a percentage (\"60%\") or a range of them (\"50-60%\") up to 100");
  }
  if (absl::StrContains(digits, '-')) share.kind = RdtCacheShare::Kind::kPercentRange;
  share.low_percent = range->first;
  share.high_percent = range->last;
  if (share.kind == RdtCacheShare::Kind::kPercent) share.low_percent = 0;
  return share;
}

}  // namespace

absl::StatusOr<std::vector<uint64_t>> ParseRdtCacheIds(absl::string_view text) {
  PLIMSOLL_ASSIGN_OR_RETURN(
      const std::set<uint64_t> ids,
      ParseList(text, kMaxId, "is not a list of cache ids (\"all\", \"0\", \"0-1\", \"0,2-3\")"));
  return std::vector<uint64_t>(ids.begin(), ids.end());
}

absl::StatusOr<RdtCacheShare> ParseRdtCacheShare(absl::string_view text) {
  if (absl::EndsWith(text, "%")) return ParsePercent(text);
  RdtCacheShare share{.kind = RdtCacheShare::Kind::kMask, .text = std::string(text)};
  if (absl::StartsWith(text, "0x")) {
    const auto mask = HexNumber(text.substr(2));
    if (!mask) return Invalid(text, "is not a hexadecimal mask (\"0x3f0\")");
    share.mask = *mask;
  } else {
    PLIMSOLL_ASSIGN_OR_RETURN(
        const std::set<uint64_t> bits,
        ParseList(text, 63,
                  "is not a share of a cache: \"60%\", \"50-60%\", a mask (\"0x3f0\") or "
                  "its bits (\"4-9\", at most 63)"));
    for (const uint64_t bit : bits) share.mask |= uint64_t{1} << bit;
  }
  if (share.mask == 0) return Invalid(text, "has no bit set");
  return share;
}

absl::Status ParseRdtBandwidth(absl::string_view text, RdtBandwidthAllocation& allocation) {
  absl::string_view digits = text;
  const bool percent = absl::ConsumeSuffix(&digits, "%");
  if (!percent && !absl::ConsumeSuffix(&digits, "MBps")) {
    return Invalid(text, "is not a memory bandwidth: \"50%\" or \"1000MBps\"");
  }
  std::optional<uint64_t>& member = percent ? allocation.percent : allocation.mbps;
  std::string& error = percent ? allocation.percent_error : allocation.mbps_error;
  if (member || !error.empty()) return Invalid(text, "is the second value of its unit");
  const auto value = Number(digits);
  const uint64_t max = percent ? 100 : kMaxMbps;
  if (value && *value <= max) {
    member = *value;
  } else {
    error = absl::StrCat("\"", text, "\" must be a whole number from 0 to ", max, " and its unit");
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::qos
