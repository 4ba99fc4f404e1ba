#include "container_entry/enter.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "container_entry/command.h"
#include "container_entry/credentials.h"
#include "container_entry/report.h"
#include "container_entry/terminal.h"

namespace plimsoll::entry {
namespace {

bool WriteFile(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const auto length = static_cast<ssize_t>(strlen(text));
  const bool written = write(file, text, static_cast<size_t>(length)) == length;
  const int error = errno;
  close(file);
  errno = error;
  return written;
}

bool LimitDescriptors(const char* value) {
  uint64_t soft = 0;
  uint64_t hard = 0;
  if (!ParseLimits(value, &soft, &hard)) {
    errno = EINVAL;
    return false;
  }
  const rlimit limit = {soft, hard};
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

bool SetResourceLimit(const char* value) {
  int resource = 0;
  uint64_t soft = 0;
  uint64_t hard = 0;
  if (!ParseResourceLimit(value, &resource, &soft, &hard)) {
    errno = EINVAL;
    return false;
  }
  const auto which = static_cast<__rlimit_resource>(resource);
  const rlimit limit = {soft, hard};
  if (setrlimit(which, &limit) == 0) return true;
  // The daemon may have had more when it made the container: a command gets what there is.
  rlimit own = {};
  if (errno != EPERM || getrlimit(which, &own) != 0) return false;
  const rlimit less = {std::min<rlim_t>(soft, own.rlim_max), std::min<rlim_t>(hard, own.rlim_max)};
  return setrlimit(which, &less) == 0;
}

// Takes on the settings that the host gives a command, while the host's files are still in sight.
// The control groups come last: a frozen one stops this process from then on.
void JoinGroups(const Plan& plan, int report) {
  char pid[16];
  snprintf(pid, sizeof(pid), "%d", getpid());
  for (const char* file = plan.text.Get("enter"); file != nullptr;
       file = plan.text.Next("enter", file)) {
    if (!WriteFile(file, pid)) Fail(report, Step::kClass);
  }
  const char* value = plan.text.Get("oom");
  if (value != nullptr && !WriteFile("/proc/self/oom_score_adj", value)) {
    Fail(report, Step::kOomScore);
  }
  value = plan.text.Get("nofile");
  if (value != nullptr && !LimitDescriptors(value)) Fail(report, Step::kDescriptorLimit);
  for (const char* limit = plan.text.Get("rlimit"); limit != nullptr;
       limit = plan.text.Next("rlimit", limit)) {
    if (!SetResourceLimit(limit)) Fail(report, Step::kResourceLimit);
  }
  // The label takes effect at the next execve(2), and passes a fork.
  value = plan.text.Get("label");
  if (value != nullptr && !WriteFile("/proc/thread-self/attr/exec", value)) {
    Fail(report, Step::kLabel);
  }
  for (const char* file = plan.text.Get("group"); file != nullptr;
       file = plan.text.Next("group", file)) {
    if (!WriteFile(file, "0")) Fail(report, Step::kGroup);
  }
}

// Closes all descriptors from 3 on except these; -1 means none. False: failed, with errno.
bool KeepOnly(std::initializer_list<int> kept) {
  unsigned first = 3;
  while (true) {
    unsigned next = UINT_MAX;
    for (const int each : kept) {
      if (each >= static_cast<int>(first)) next = std::min(next, static_cast<unsigned>(each));
    }
    if (next == UINT_MAX) break;
    if (first < next && syscall(SYS_close_range, first, next - 1, 0) != 0) return false;
    first = next + 1;
  }
  return syscall(SYS_close_range, first, UINT_MAX, 0) == 0;
}

// Flags of the namespaces in which the container's init differs from this process: none can be
// entered twice, nor the host's from a user namespace. -1: the init is gone.
int NamespacesOf(pid_t pid) {
  struct Kind {
    const char* name;
    int flag;
  };
  constexpr Kind kKinds[] = {{"user", CLONE_NEWUSER},    {"mnt", CLONE_NEWNS},
                             {"pid", CLONE_NEWPID},      {"net", CLONE_NEWNET},
                             {"ipc", CLONE_NEWIPC},      {"uts", CLONE_NEWUTS},
                             {"cgroup", CLONE_NEWCGROUP}};
  int flags = 0;
  for (const Kind& kind : kKinds) {
    char path[64];
    struct stat own = {};
    struct stat its = {};
    snprintf(path, sizeof(path), "/proc/self/ns/%s", kind.name);
    if (stat(path, &own) != 0) continue;
    snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kind.name);
    if (stat(path, &its) != 0) return -1;
    if (own.st_dev != its.st_dev || own.st_ino != its.st_ino) flags |= kind.flag;
  }
  return flags;
}

// Every container has a mount namespace of its own. If it seems to be this process's, the pid has
// been reused, which only setns(2) on the pidfd would tell.
void EnterNamespaces(const Plan& plan, int flags, int report) {
  if (flags < 0 || (flags & CLONE_NEWNS) == 0) {
    errno = ESRCH;
    Fail(report, Step::kNamespaces);
  }
  if (setns(plan.init, flags) != 0) Fail(report, Step::kNamespaces);
  close(plan.init);
}

// Gives the streams to the command's user, who may open /dev/stdout again. A null device is open to
// all.
bool GiveStreams(const Plan& plan) {
  for (int stream = 0; stream < 3; ++stream) {
    struct stat info = {};
    if (fstat(stream, &info) != 0 || !S_ISFIFO(info.st_mode)) continue;
    if (fchown(stream, plan.uid, plan.gid) == 0) continue;
    // The user has no id outside, or the host root's pipe is seen from a user namespace.
    if (errno != EINVAL && errno != EPERM) return false;
  }
  return true;
}

// The kernel marks a directory outside the root with a leading "(unreachable)".
bool IsBelowRoot() {
  char path[PATH_MAX];
  return syscall(SYS_getcwd, path, sizeof(path)) > 0 && path[0] == '/';
}

// In a user namespace its root makes the terminal: other ids have no meaning there.
int MakeTerminalAsRoot(const Plan& plan, int console, bool user_namespace, int report) {
  if (console < 0) return -1;
  if (user_namespace && (setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0)) {
    Fail(report, Step::kIds);
  }
  const int terminal = MakeTerminal(console, plan.uid);
  if (terminal < 0) Fail(report, Step::kTerminal);
  return terminal;
}

// Forks a copy of this process with the same parent.
pid_t ForkBeside() {
  return static_cast<pid_t>(
      syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

}  // namespace

void Enter(const Plan& plan, int report, pid_t* child) {
  // A captured command's process must not write to the memory that the supervisor reads.
  if (madvise(child, sizeof(*child), MADV_DONTFORK) != 0) Fail(report, Step::kFork);
  Filter filter;
  if (!ReadFilter(plan.filter, &filter)) Fail(report, Step::kReadFilter);
  int console = -1;
  if (const char* path = plan.text.Get("console"); path != nullptr) {
    console = ConnectTo(path);
    if (console < 0) Fail(report, Step::kConsole);
  }
  JoinGroups(plan, report);
  const int namespaces = NamespacesOf(plan.pid);
  if (!KeepOnly({report, console, plan.init})) Fail(report, Step::kDescriptors);
  EnterNamespaces(plan, namespaces, report);
  if (setsid() < 0) Fail(report, Step::kSession);

  const int terminal = MakeTerminalAsRoot(plan, console, (namespaces & CLONE_NEWUSER) != 0, report);
  const char* directory = plan.text.Get("cwd");
  // Tried twice: as root, which sees more than the user, and as the user, for file systems where
  // root sees less.
  const bool arrived = chdir(directory) == 0;
  if (terminal < 0 && !GiveStreams(plan)) Fail(report, Step::kStreams);
  TakeCredentials(plan, filter, report);
  if (!arrived && chdir(directory) != 0) Fail(report, Step::kDirectory);
  if (!IsBelowRoot()) Fail(report, Step::kBeyondRoot);
  const pid_t pid = ForkBeside();
  if (pid == 0) Become(plan, filter, terminal, report);
  if (pid < 0) Fail(report, Step::kFork);
  *child = pid;
  _exit(0);
}

}  // namespace plimsoll::entry
