#include "monitor/creation.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "monitor/byte_variables.h"
#include "monitor/console.h"
#include "monitor/fail.h"
#include "monitor/launch.h"
#include "monitor/pipe.h"
#include "monitor/protocol.h"

namespace plimsoll::monitor {
namespace {

constexpr char kPidFile[] = "pid";

// The child's half, which ends with its parent: a runtime that nobody waits for must not go on.
[[noreturn]] void BecomeRuntime(const char* id, const LaunchPlan& plan, pid_t parent, int input,
                                int output, int errors) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  if (dup2(errors, 2) < 0) _exit(1);
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0) Fail("set up", "standard streams");
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int ignored : {SIGPIPE, SIGXFSZ, SIGHUP, SIGINT, SIGTERM}) signal(ignored, SIG_DFL);

  const char* arguments[16] = {"", ""};
  int count = 2;
  for (const char* argument : {"create", "--bundle", plan.Get("bundle"), "--pid-file", kPidFile}) {
    arguments[count++] = argument;
  }
  if (plan.Has("terminal")) {
    arguments[count++] = "--console-socket";
    arguments[count++] = kConsoleSocket;
  }
  if (plan.Has("variables")) arguments[count++] = kPreserveVariables;
  arguments[count++] = id;
  arguments[count] = nullptr;
  Launch(plan, const_cast<char**>(arguments));
}

// fork(2) into a mount namespace of the child's own.
pid_t ForkIntoMountNamespace() {
  return static_cast<pid_t>(
      syscall(SYS_clone, CLONE_NEWNS | SIGCHLD, nullptr, nullptr, nullptr, 0));
}

int OpenMountNamespace(pid_t pid) {
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
  return open(path, O_RDONLY | O_CLOEXEC);
}

pid_t ReadPidFile() {
  char text[32] = {};
  const int fd = open(kPidFile, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  const ssize_t n = read(fd, text, sizeof(text) - 1);
  close(fd);
  return n > 0 ? atoi(text) : -1;
}

void Say(CreateResult* creation, const char* what) {
  snprintf(creation->error, sizeof(creation->error), "%s: %s", what, strerror(errno));
}

// Reads output until the runtime has ended, even if processes that it leaves keep its streams open.
// A hook may write more than a pipe holds.
void HoldOutput(pid_t runtime, OutputStream* out, OutputStream* err) {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, runtime, 0));
  if (pidfd < 0) return;
  while (true) {
    pollfd polls[3] = {{pidfd, POLLIN, 0}, {out->fd(), POLLIN, 0}, {err->fd(), POLLIN, 0}};
    if (poll(polls, 3, -1) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (polls[1].revents != 0) out->Hold();
    if (polls[2].revents != 0) err->Hold();
    if (polls[0].revents != 0) break;
  }
  close(pidfd);
}

// Whether the runtime succeeded; its message is in its standard error.
bool AwaitRuntime(pid_t runtime, OutputStream* out, OutputStream* errors, CreateResult* creation) {
  HoldOutput(runtime, out, errors);
  int status = 0;
  // Reap only the runtime: a dead init is for the caller to reap.
  while (waitpid(runtime, &status, 0) < 0) {
    if (errno != EINTR) {
      Say(creation, "wait for the OCI runtime");
      return false;
    }
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  const char* said = errors->Unlogged();
  if (*said != '\0') {
    snprintf(creation->error, sizeof(creation->error), "%s", said);
  } else if (WIFSIGNALED(status)) {
    snprintf(creation->error, sizeof(creation->error), "the OCI runtime was killed by signal %d",
             WTERMSIG(status));
  } else {
    snprintf(creation->error, sizeof(creation->error),
             "the OCI runtime ended with exit code %d and said nothing", WEXITSTATUS(status));
  }
  return false;
}

}  // namespace

void CreateContainer(const char* id, const LaunchPlan& plan, OutputStream* out, OutputStream* err,
                     CreateResult* creation) {
  const bool terminal = plan.Has("terminal");
  // This process's own null device, not the machine's: the container's root may change the mode of
  // the node.
  const int null = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, kSyncDescriptor + 1);
  if (null < 0) return Say(creation, "duplicate standard input");
  const int console = terminal ? ListenForConsole() : -1;
  if (terminal && console < 0) return Say(creation, "listen for the terminal");
  // With a terminal the container doesn't use these: they carry the runtime's messages.
  const Pipe output = MakePipe();
  const Pipe errors = MakePipe();
  Pipe input = {null, -1};
  if (plan.Has("stdin") && !terminal) input = MakePipe();
  creation->input = input.writer;
  out->Read(output.reader);
  err->Read(errors.reader);

  const pid_t parent = getpid();
  const pid_t runtime = ForkIntoMountNamespace();
  if (runtime < 0) return Say(creation, "start the OCI runtime");
  if (runtime == 0) BecomeRuntime(id, plan, parent, input.reader, output.writer, errors.writer);
  // Kept open beyond the runtime's end: destroying a mount namespace takes half a millisecond and
  // more, at the expense of the process that closes it last.
  creation->mount_namespace = OpenMountNamespace(runtime);
  close(output.writer);
  close(errors.writer);
  close(input.reader);

  if (!AwaitRuntime(runtime, out, err, creation)) return;
  out->LogHeld();
  err->LogHeld();
  if (terminal) {
    creation->terminal = ReceiveConsole(console);
    if (creation->terminal < 0) return Say(creation, "receive the terminal");
    out->Read(creation->terminal);
    close(console);
    unlink(kConsoleSocket);
  }
  const pid_t init = ReadPidFile();
  siginfo_t ended;
  if (init <= 0) {
    Say(creation, "read the pid file of the OCI runtime");
  } else if (waitid(P_PID, static_cast<id_t>(init), &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
    Say(creation, "the container's init ended as it was created");
  } else {
    creation->init = init;
  }
}

}  // namespace plimsoll::monitor
