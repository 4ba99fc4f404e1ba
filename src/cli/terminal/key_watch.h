// Acts on keys as they are typed.
#ifndef PLIMSOLL_CLI_TERMINAL_KEY_WATCH_H_
#define PLIMSOLL_CLI_TERMINAL_KEY_WATCH_H_

#include <termios.h>

#include <atomic>
#include <functional>
#include <thread>

namespace plimsoll::cli {

// While an object lives and standard input is a terminal of this job, keys arrive without Enter and
// aren't echoed; Ctrl-C still sends a signal. The destructor restores the terminal. Does nothing
// elsewhere (a pipe, a background job).
class KeyWatch {
 public:
  // `typed` is called for each key, in a thread of this object.
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

#endif  // PLIMSOLL_CLI_TERMINAL_KEY_WATCH_H_
