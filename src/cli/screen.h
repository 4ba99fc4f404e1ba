// A terminal that is drawn over again and again.
#ifndef PLIMSOLL_CLI_SCREEN_H_
#define PLIMSOLL_CLI_SCREEN_H_

#include <string>

namespace plimsoll::cli {

// While one lives, standard output shows a screen of its own; the end brings back what was there
// before, cursor and all. Changes nothing about what the terminal does with keys.
class Screen {
 public:
  Screen();
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Shows `text` from the upper left corner, cut to what the terminal holds now.
  void Show(const std::string& text);
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_SCREEN_H_
