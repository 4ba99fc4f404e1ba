#include "cli/terminal/key_watch.h"

#include <poll.h>
#include <unistd.h>

#include <utility>

namespace plimsoll::cli {
namespace {

// A terminal belongs to the foreground job: another job that sets it is stopped (SIGTTOU).
bool IsOurs() {
  const pid_t foreground = tcgetpgrp(STDIN_FILENO);
  return foreground < 0 || foreground == getpgrp();
}

}  // namespace

KeyWatch::KeyWatch(std::function<void(char key)> typed) : typed_(std::move(typed)) {
  if (!IsOurs() || tcgetattr(STDIN_FILENO, &before_) != 0) return;
  termios keys = before_;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VMIN] = 1;
  keys.c_cc[VTIME] = 0;
  if (tcsetattr(STDIN_FILENO, TCSANOW, &keys) != 0) return;
  thread_ = std::thread([this] { Loop(); });
}

KeyWatch::~KeyWatch() {
  if (!watches()) return;
  ending_ = true;
  thread_.join();
  // Drops keys that were typed meanwhile: the shell must not get them.
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

void KeyWatch::Loop() {
  constexpr int kLookMs = 50;
  while (!ending_) {
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, kLookMs) <= 0) continue;
    char key = 0;
    if (read(STDIN_FILENO, &key, 1) != 1) return;
    typed_(key);
  }
}

}  // namespace plimsoll::cli
