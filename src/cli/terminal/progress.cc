#include "cli/terminal/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/text/printable.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"

namespace plimsoll::cli {
namespace {

constexpr absl::Duration kRedrawInterval = absl::Milliseconds(50);
constexpr size_t kBarWidth = 24;

size_t TerminalWidth() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string ProgressLine(absl::string_view step, uint64_t done, uint64_t total, size_t width) {
  std::string tail;
  if (total > 0) {
    const double fraction = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const auto filled = static_cast<size_t>(fraction * kBarWidth);
    std::string bar(filled, '=');
    if (filled < kBarWidth) bar += '>';
    bar.resize(kBarWidth, ' ');
    tail = absl::StrFormat("  [%s] %3d%%  %s", bar, static_cast<int>(fraction * 100),
                           HumanBytes(total));
  } else if (done > 0) {
    tail = absl::StrCat("  ", HumanBytes(done));
  }
  std::string line = Printable(step);
  if (tail.size() >= width) return line.substr(0, width);
  if (line.size() + tail.size() > width) line.resize(width - tail.size());
  return line + tail;
}

ProgressBar::ProgressBar(std::string title)
    : title_(std::move(title)), terminal_(isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (terminal_ && !step_.empty()) PrintNote("\r\x1b[K");
}

void ProgressBar::Update(absl::string_view step, uint64_t done, uint64_t total) {
  const bool new_step = step != step_;
  step_ = std::string(step);
  if (!terminal_) {
    if (new_step) PrintNote(absl::StrCat(title_, ": ", Printable(step), "\n"));
    return;
  }
  const absl::Time now = absl::Now();
  if (!new_step && now - last_ < kRedrawInterval) return;
  last_ = now;
  // One column less: some terminals wrap after the last one.
  PrintNote(absl::StrCat("\r\x1b[K", ProgressLine(absl::StrCat(title_, ": ", step), done, total,
                                                  TerminalWidth() - 1)));
}

}  // namespace plimsoll::cli
