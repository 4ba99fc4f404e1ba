// Keys that are obeyed as they are typed.
#ifndef PLIMSOLL_CLI_KEY_WATCH_H_
#define PLIMSOLL_CLI_KEY_WATCH_H_

#include <termios.h>

#include <atomic>
#include <functional>
#include <thread>

namespace plimsoll::cli {

// While one lives and standard input is a terminal of ours, keys come without Enter and are not
// shown; Ctrl-C is a signal as ever. The end restores the terminal. Elsewhere (a pipe, a job in the
// background) it does nothing.
class KeyWatch {
 public:
  // `typed` is called for each key, in a thread of this one's own.
  explicit KeyWatch(std::function<void(char key)> typed);
  ~KeyWatch();
  KeyWatch(const KeyWatch&) = delete;
  KeyWatch& operator=(const KeyWatch&) = delete;

  bool watches() const { return thread_.joinable(); }

 private:
  void Loop();

  const std::function<void(char)> typed_;
  termios before_ = {};
  std::atomic<bool> ending_ = false;
  std::thread thread_;
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_KEY_WATCH_H_
