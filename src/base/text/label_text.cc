#include "base/text/label_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace plimsoll {
namespace {

constexpr size_t kMaxLabelBytes = 63;
constexpr size_t kMaxDnsBytes = 253;

bool IsAlnum(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c));
}

bool IsInLabel(char c) {
  return IsAlnum(c) || c == '-' || c == '_' || c == '.';
}

bool IsDnsPart(absl::string_view part) {
  if (part.empty() || !IsAlnum(part.front()) || !IsAlnum(part.back())) return false;
  return std::all_of(part.begin(), part.end(), [](char c) {
    return (IsAlnum(c) && !absl::ascii_isupper(static_cast<unsigned char>(c))) || c == '-';
  });
}

}  // namespace

bool IsDnsName(absl::string_view text) {
  if (text.size() > kMaxDnsBytes) return false;
  for (const absl::string_view part : absl::StrSplit(text, '.')) {
    if (!IsDnsPart(part)) return false;
  }
  return true;
}

bool IsLabelValue(absl::string_view text) {
  if (text.empty()) return true;
  return text.size() <= kMaxLabelBytes && IsAlnum(text.front()) && IsAlnum(text.back()) &&
         std::all_of(text.begin(), text.end(), IsInLabel);
}

bool IsLabelKey(absl::string_view text) {
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos) return !text.empty() && IsLabelValue(text);
  const absl::string_view name = text.substr(slash + 1);
  return IsDnsName(text.substr(0, slash)) && !name.empty() && IsLabelValue(name);
}

std::string LabelValueOf(absl::string_view text) {
  std::string value(text);
  std::replace_if(
      value.begin(), value.end(), [](char c) { return !IsInLabel(c); }, '_');
  const auto first = std::find_if(value.begin(), value.end(), IsAlnum);
  const auto last = std::find_if(value.rbegin(), value.rend(), IsAlnum).base();
  if (first >= last) return "";
  value = std::string(first, last);
  return value.size() <= kMaxLabelBytes ? value : "";
}

}  // namespace plimsoll
