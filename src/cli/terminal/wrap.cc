#include "cli/terminal/wrap.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plimsoll::cli {
namespace {

constexpr size_t kLeastRoom = 20;

// The place for a break: the last space that lets the line fit, else the first one; npos: none.
size_t BreakOf(absl::string_view line, size_t width, size_t indent) {
  const size_t last = line.rfind(' ', width);
  if (last != absl::string_view::npos && last > indent) return last;
  return line.find(' ', width);
}

}  // namespace

std::string Wrap(absl::string_view text, size_t width, size_t indent) {
  if (width < indent + kLeastRoom) return std::string(text);
  std::string out;
  for (absl::string_view given : absl::StrSplit(text, '\n')) {
    std::string line(given);
    const std::string margin(absl::StartsWith(line, " ") ? indent : 0, ' ');
    while (line.size() > width) {
      const size_t at = BreakOf(line, width, margin.size());
      if (at == std::string::npos) break;
      absl::StrAppend(&out, absl::string_view(line).substr(0, at), "\n");
      line = absl::StrCat(margin, absl::string_view(line).substr(at + 1));
    }
    absl::StrAppend(&out, line, "\n");
  }
  out.pop_back();  // the newline behind the last line
  return out;
}

size_t OutputWidth() {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  const char* const given = std::getenv("COLUMNS");
  size_t columns = 0;
  if (given != nullptr && absl::SimpleAtoi(given, &columns) && columns > 0) return columns;
  winsize size = {};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace plimsoll::cli
