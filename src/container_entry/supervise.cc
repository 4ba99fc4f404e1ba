#include "container_entry/supervise.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "container_entry/enter.h"
#include "container_entry/protocol.h"
#include "container_entry/report.h"

namespace plimsoll::entry {
namespace {

constexpr int kSignalled = 128;

// fork(2), into a v2 control group if the plan names one. -1: failed, with errno.
pid_t Fork(const char* group) {
  clone_args arguments = {};
  arguments.exit_signal = SIGCHLD;
  if (group != nullptr) {
    const int directory = open(group, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return -1;
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<__u64>(directory);
  }
  return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
}

// Waits for that child's end and returns its status. `all`: also reaps other children, which it has
// left behind.
int WaitFor(pid_t pid, bool all) {
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(all ? -1 : pid, &status, 0);
    if (ended == pid) return status;
    if (ended < 0 && errno != EINTR) return kSilentEnd << 8;
  }
}

int ExitCode(int status) {
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

// Reads the first failure in the pipe: the process that may write last is visible to the container.
bool ReadFailure(int report, Failure* failure) {
  char bytes[sizeof(Failure)];
  const ssize_t n = read(report, bytes, sizeof(bytes));
  return n > 0 && Decode(bytes, static_cast<size_t>(n), failure);
}

// Waits until the command is executed, which closes the pipe, or its process has ended. False: it
// failed.
bool AwaitExecution(int report, pid_t pid, Failure* failure) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0) return true;
  pollfd polls[2] = {{report, POLLIN, 0}, {process, POLLIN, 0}};
  while (poll(polls, 2, -1) < 0 && errno == EINTR) {
  }
  close(process);
  // A process that captured that one may keep the pipe open.
  return polls[0].revents == 0 || !ReadFailure(report, failure);
}

// Reports the failure of a process that got no further; without a report it was killed.
int TellWhy(const Plan& plan, int report, int status) {
  Failure failure;
  if (ReadFailure(report, &failure)) {
    Tell(plan, failure);
    return 1;
  }
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS) return kSilentEnd;
  Tell(plan, {Step::kEarlyFilter, EPERM});  // the container's filter kills processes that fork
  return 1;
}

}  // namespace

int Supervise(const Plan& plan) {
  int pipe_ends[2];
  auto* child = static_cast<pid_t*>(
      mmap(nullptr, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (child == MAP_FAILED || pipe2(pipe_ends, O_CLOEXEC) != 0) {
    Tell(plan, {Step::kFork, errno});
    return 1;
  }
  const char* const group = plan.text.Get("into");
  const pid_t entering = Fork(group);
  if (entering < 0) {
    Tell(plan, {group == nullptr ? Step::kFork : Step::kGroup, errno});
    return 1;
  }
  if (entering == 0) Enter(plan, pipe_ends[1], child);
  const int report = pipe_ends[0];
  close(pipe_ends[1]);
  close(plan.init);
  for (int stream = 0; stream < 3; ++stream) close(stream);

  const int status = WaitFor(entering, /*all=*/false);
  if (*child <= 0) return TellWhy(plan, report, status);
  Failure failure;
  const bool executed = AwaitExecution(report, *child, &failure);
  // Shows the daemon, which waits for the end of this pipe, that the command is executed.
  if (executed) close(plan.entered);
  close(report);
  const int code = ExitCode(WaitFor(*child, /*all=*/true));
  if (executed) return code;
  Tell(plan, failure);
  return 1;
}

}  // namespace plimsoll::entry
