#include "daemon/main_process.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll::daemon {
namespace {

constexpr int kSignalled = 128;

// Of both processes: the daemon writes to it when its parent is to end.
UniqueFd& EndEvent() {
  static UniqueFd event;
  return event;
}

int Attend(int signals, pid_t daemon) {
  while (true) {
    pollfd ready[] = {{signals, POLLIN, 0}, {EndEvent().get(), POLLIN, 0}};
    if (poll(ready, 2, -1) < 0) continue;
    if (ready[1].revents != 0) return 0;
    signalfd_siginfo info = {};
    if (read(signals, &info, sizeof(info)) != sizeof(info)) continue;
    if (info.ssi_signo != SIGCHLD) {
      kill(daemon, static_cast<int>(info.ssi_signo));
      continue;
    }
    int status = 0;
    if (waitpid(daemon, &status, WNOHANG) != daemon) continue;
    return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

}  // namespace

absl::StatusOr<std::optional<int>> BecomeMainProcess() {
  // If it is ignored, no SIGCHLD comes.
  signal(SIGCHLD, SIG_DFL);
  sigset_t attended;
  sigemptyset(&attended);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&attended, number);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &attended, &before);
  UniqueFd signals(signalfd(-1, &attended, SFD_CLOEXEC));
  if (!signals.valid()) return ErrnoStatus(errno, "signalfd");
  EndEvent().Reset(eventfd(0, EFD_CLOEXEC));
  if (!EndEvent().valid()) return ErrnoStatus(errno, "eventfd");
  const pid_t parent = getpid();
  const pid_t daemon = fork();
  if (daemon < 0) return ErrnoStatus(errno, "fork the daemon");
  if (daemon > 0) return Attend(signals.get(), daemon);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kSignalled + SIGKILL);  // killed in between
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return std::nullopt;
}

void EndMainProcess() {
  prctl(PR_SET_PDEATHSIG, 0);
  eventfd_write(EndEvent().get(), 1);
}

}  // namespace plimsoll::daemon
