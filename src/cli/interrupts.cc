#include "cli/interrupts.h"

#include <ctime>

namespace plimsoll::cli {

Interrupts::Interrupts() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::thread([this] { Loop(); });
}

Interrupts::~Interrupts() {
  ending_ = true;
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupts::Loop() {
  const timespec interval = {0, 50 * 1000 * 1000};
  while (!ending_) {
    if (sigtimedwait(&signals_, nullptr, &interval) > 0) ++count_;
  }
}

}  // namespace plimsoll::cli
