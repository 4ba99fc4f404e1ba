#include "cli/terminal/description.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/text/printable.h"

namespace plimsoll::cli {

void Description::Add(const std::vector<std::pair<std::string, std::string>>& pairs) {
  size_t width = 0;
  for (const auto& [name, value] : pairs) {
    if (!value.empty()) width = std::max(width, name.size());
  }
  for (const auto& [name, value] : pairs) {
    if (value.empty()) continue;
    absl::StrAppend(&text_, std::string(indent_, ' '), Printable(name), ":",
                    std::string(width + 2 - std::min(width, name.size()), ' '), Printable(value),
                    "\n");
  }
}

void Description::Section(absl::string_view title) {
  absl::StrAppend(&text_, std::string(indent_, ' '), Printable(title), ":\n");
}

void Description::AddLines(absl::string_view lines) {
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&text_, std::string(indent_, ' '), line, "\n");
  }
}

}  // namespace plimsoll::cli
