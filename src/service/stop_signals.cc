#include "service/stop_signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/status.h"

namespace plimsoll {

absl::StatusOr<UniqueFd> BlockStopSignals() {
  for (const int number : {SIGPIPE, SIGXFSZ}) signal(number, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "signalfd");
  return fd;
}

bool TakeStop(const UniqueFd& signals) {
  pollfd waiting = {.fd = signals.get(), .events = POLLIN, .revents = 0};
  signalfd_siginfo info = {};
  while (poll(&waiting, 1, 0) == 1 && read(signals.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo != SIGHUP) return true;
  }
  return false;
}

void WaitForStop(const UniqueFd& signals) {
  signalfd_siginfo info = {};
  while (read(signals.get(), &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGHUP) {
  }
}

}  // namespace plimsoll
