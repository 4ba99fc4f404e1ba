#include "daemon/main_process.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"
#include "service/notify.h"

namespace plimsoll::daemon {
namespace {

constexpr int kSignalled = 128;

// The daemon's messages to its main process: states for the service manager, and this one.
constexpr absl::string_view kEnd = "END";

// The daemon's end of the socket for them.
UniqueFd& ToMainProcess() {
  static UniqueFd socket;
  return socket;
}

absl::Status Send(absl::string_view message) {
  if (send(ToMainProcess().get(), message.data(), message.size(), MSG_NOSIGNAL) < 0) {
    return ErrnoStatus(errno, "send a message to the main process");
  }
  return absl::OkStatus();
}

// The next message; empty: the daemon has ended.
std::string Receive(int messages) {
  char message[4096];
  ssize_t length = 0;
  do {
    length = recv(messages, message, sizeof(message), 0);
  } while (length < 0 && errno == EINTR);
  return std::string(message, static_cast<size_t>(std::max<ssize_t>(length, 0)));
}

int Attend(int signals, int messages, pid_t daemon) {
  while (true) {
    pollfd ready[] = {{signals, POLLIN, 0}, {messages, POLLIN, 0}};
    if (poll(ready, 2, -1) <= 0) continue;
    if (ready[1].revents != 0) {
      const std::string message = Receive(messages);
      if (message == kEnd) return 0;
      if (message.empty()) {
        messages = -1;  // SIGCHLD follows
      } else if (const absl::Status sent = NotifyServiceManager(message); !sent.ok()) {
        std::fprintf(stderr, "plimsolld: %s\n", std::string(sent.message()).c_str());
      }
      continue;
    }
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
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  UniqueFd messages(ends[0]);
  ToMainProcess().Reset(ends[1]);
  const pid_t parent = getpid();
  const pid_t daemon = fork();
  if (daemon < 0) return ErrnoStatus(errno, "fork the daemon");
  if (daemon > 0) {
    ToMainProcess().Reset();
    // This process's end would be the daemon's: nobody may be left who reads its errors.
    signal(SIGPIPE, SIG_IGN);
    return Attend(signals.get(), messages.get(), daemon);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(kSignalled + SIGKILL);  // killed in between
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return std::nullopt;
}

absl::Status NotifyByMainProcess(absl::string_view state) {
  return ToMainProcess().valid() ? Send(state) : NotifyServiceManager(state);
}

void EndMainProcess() {
  prctl(PR_SET_PDEATHSIG, 0);
  Send(kEnd).IgnoreError();
}

}  // namespace plimsoll::daemon
