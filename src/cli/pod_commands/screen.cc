#include "cli/pod_commands/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "cli/pod_commands/top_report.h"
#include "cli/terminal/output.h"

namespace plimsoll::cli {

// xterm's control sequences, which today's terminals know: the alternate screen buffer (1049) and
// the cursor's visibility (25).
Screen::Screen() {
  Print("\x1b[?1049h\x1b[?25l");
}

Screen::~Screen() {
  Print("\x1b[?25h\x1b[?1049l");
}

void Screen::Show(const std::string& text) {
  winsize size = {};
  const bool is_known =
      ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  // The last line is the cursor's. (FitToScreen takes a height of 0 for all lines.)
  const std::string fitting =
      FitToScreen(text, is_known ? size.ws_col : 80, is_known ? std::max(1, size.ws_row - 1) : 23);
  // Clears each line behind its text, and then the rest. Clearing the screen first would flicker.
  Print(absl::StrCat("\x1b[H", absl::StrReplaceAll(fitting, {{"\n", "\x1b[K\r\n"}}), "\x1b[J"));
}

}  // namespace plimsoll::cli
