// A terminal that is redrawn again and again.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_SCREEN_H_
#define PLIMSOLL_CLI_POD_COMMANDS_SCREEN_H_

#include <string>

namespace plimsoll::cli {

// While an object lives, standard output shows an alternate screen. The destructor brings the old
// one back, with its cursor. Keys are not affected.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Shows `text` from the upper left corner, cut to the terminal's present size.
  void Show(const std::string& text);
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_SCREEN_H_
