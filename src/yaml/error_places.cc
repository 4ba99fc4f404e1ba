#include "yaml/error_places.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/problems.h"

namespace plimsoll {
namespace {

// Takes "17:" off the front.
std::optional<int> ConsumeNumber(absl::string_view& text) {
  const size_t end = text.find(':');
  int number = 0;
  if (end == absl::string_view::npos || !absl::SimpleAtoi(text.substr(0, end), &number)) {
    return std::nullopt;
  }
  text.remove_prefix(end + 1);
  return number;
}

int LineOf(absl::string_view error, absl::string_view file) {
  if (!absl::ConsumePrefix(&error, absl::StrCat(file, ":"))) return 0;
  return ConsumeNumber(error).value_or(0);
}

std::string WithoutPlace(absl::string_view error, absl::string_view file) {
  absl::string_view rest = error;
  const bool has_place = absl::ConsumePrefix(&rest, absl::StrCat(file, ":")) &&
                         ConsumeNumber(rest).has_value() && ConsumeNumber(rest).has_value();
  return has_place ? absl::StrCat(file, ":", rest) : std::string(error);
}

}  // namespace

std::vector<std::string> InOrderOfLines(std::vector<std::string> errors, absl::string_view file) {
  const bool further = !errors.empty() && errors.back() == kFurtherProblems;
  std::stable_sort(errors.begin(), errors.end() - (further ? 1 : 0),
                   [file](const std::string& one, const std::string& other) {
                     return LineOf(one, file) < LineOf(other, file);
                   });
  return errors;
}

absl::Status WithoutPlaces(const absl::Status& errors, absl::string_view file) {
  if (errors.ok()) return errors;
  std::vector<std::string> lines = absl::StrSplit(errors.message(), '\n');
  for (std::string& line : lines) line = WithoutPlace(line, file);
  return {errors.code(), absl::StrJoin(lines, "\n")};
}

}  // namespace plimsoll
