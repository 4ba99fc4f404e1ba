#include "cli/terminal/interrupts.h"

#include <ctime>
#include <utility>

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

void Interrupts::OnInterrupt(std::function<void(int)> act) {
  absl::MutexLock lock(&mutex_);
  act_ = std::move(act);
}

void Interrupts::Loop() {
  const timespec interval = {0, 50 * 1000 * 1000};
  while (!ending_) {
    if (sigtimedwait(&signals_, nullptr, &interval) <= 0) continue;
    const int count = ++count_;
    absl::MutexLock lock(&mutex_);
    if (act_) act_(count);
  }
}

}  // namespace plimsoll::cli
