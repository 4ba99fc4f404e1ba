#include "qos/class_name.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/text/printable.h"

namespace plimsoll::qos {
namespace {

bool IsNamePart(absl::string_view part) {
  const auto is_inner = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  return !part.empty() && part.size() <= 63 && absl::ascii_isalnum(part.front()) &&
         absl::ascii_isalnum(part.back()) && absl::c_all_of(part, is_inner);
}

// RFC 1123: labels of lower-case letters, digits and '-'.
bool IsDnsName(absl::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  for (absl::string_view label : absl::StrSplit(name, '.')) {
    const auto is_inner = [](unsigned char c) {
      return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
    };
    if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-' ||
        !absl::c_all_of(label, is_inner)) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::Status ValidateName(absl::string_view what, absl::string_view name) {
  const size_t slash = name.find('/');
  const bool has_prefix = slash != absl::string_view::npos;
  if (IsNamePart(has_prefix ? name.substr(slash + 1) : name) &&
      (!has_prefix || IsDnsName(name.substr(0, slash)))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, " name \"", Printable(name.substr(0, 320)),
                   "\" is not valid: 1 to 63 letters, digits, '-', '_' and '.', the first and last "
                   "a letter or digit; before it, if wanted, a DNS name and a slash"));
}

std::string WhyOddClassName(absl::string_view name) {
  if (ValidateName("class", name).ok()) return "";
  return absl::StrCat("not every client can send the class name \"", name,
                      "\"; valid are 1 to 63 letters, digits, '-', '_' and '.'");
}

}  // namespace plimsoll::qos
