#include "daemon/main_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/status.h"

namespace plimsoll::daemon {
namespace {

constexpr int kSignalled = 128;
constexpr int kEnd = SIGUSR1;  // from the child

int Attend(const sigset_t& signals, pid_t daemon) {
  while (true) {
    siginfo_t info = {};
    const int number = sigwaitinfo(&signals, &info);
    if (number == kEnd && info.si_pid == daemon) return 0;
    int status = 0;
    if (number == SIGCHLD && waitpid(daemon, &status, WNOHANG) == daemon) {
      return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (number == SIGTERM || number == SIGINT || number == SIGHUP) kill(daemon, number);
  }
}

}  // namespace

absl::StatusOr<std::optional<int>> BecomeMainProcess() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, kEnd}) sigaddset(&signals, number);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  const pid_t parent = getpid();
  const pid_t daemon = fork();
  if (daemon < 0) return ErrnoStatus(errno, "fork the daemon");
  if (daemon > 0) return Attend(signals, daemon);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kSignalled + SIGKILL);  // killed in between
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return std::nullopt;
}

void EndMainProcess() {
  prctl(PR_SET_PDEATHSIG, 0);
  kill(getppid(), kEnd);
}

}  // namespace plimsoll::daemon
