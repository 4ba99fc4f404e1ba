#include "yaml/error_places.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/text/problems.h"

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

}  // namespace

std::vector<std::string> InOrderOfLines(std::vector<std::string> errors, absl::string_view file) {
  const bool further = !errors.empty() && errors.back() == kFurtherProblems;
  std::stable_sort(errors.begin(), errors.end() - (further ? 1 : 0),
                   [file](const std::string& one, const std::string& other) {
                     return LineOf(one, file) < LineOf(other, file);
                   });
  return errors;
}

}  // namespace plimsoll
