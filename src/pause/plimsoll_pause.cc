// plimsoll-pause: the init of a PID namespace that the containers of a pod share. It reaps orphans
// and ends on SIGTERM or SIGINT.
//
//   plimsoll-pause make ROOT [NAMESPACE...]
//
// makes the namespace, prints the pid of its init as the caller sees it, and ends. ROOT is an empty
// directory that serves as a mount point; each NAMESPACE is a file to join first (the pod's own), a
// user namespace before those that it owns. The init waits for one byte on descriptor 3. If the
// other end is closed instead it ends: its caller died before recording it. The daemon pins the
// namespace, so that a reused pid never leads into a stranger's.
//
// Containers of the pod see this process as pid 1, and a capable one may trace it or look through
// /proc/1. So it holds nothing of the host: no descriptors, no privileges, not the host's network
// where the pod has its own, and a root directory of its own that has only this program, on a
// read-only mount. Signals from inside its namespace change nothing, else a container could end all
// others: only a sender outside has si_pid 0.
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kGo = 3;
constexpr unsigned kNobody = 65535;  // unlikely to own a file of any image
constexpr unsigned long kReadOnly = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV;
constexpr char kName[] = "pause";

[[noreturn]] void Fail(const char* what, const char* object) {
  dprintf(2, "plimsoll-pause: %s %s: %s\n", what, object, strerror(errno));
  _exit(1);
}

void Join(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) Fail("open namespace", path);
  if (setns(fd, 0) != 0) Fail("join namespace", path);
  close(fd);
}

// In a user namespace of the pod's, this process is nobody until it becomes root there.
void BecomeRoot() {
  if (geteuid() == 0) return;
  if (setgroups(0, nullptr) != 0 || setresgid(0, 0, 0) != 0 || setresuid(0, 0, 0) != 0) {
    Fail("become root", "of the user namespace");
  }
}

// Enters a root directory with nothing but this program, `self`: by name, because the mount it was
// started from belongs to the old namespace.
void EnterRoot(const char* root, const char* self) {
  if (unshare(CLONE_NEWNS) != 0) Fail("unshare", "mount namespace");
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) Fail("make private", "/");
  constexpr char kOptions[] = "mode=0755,size=4k,nr_inodes=4";
  if (mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, kOptions) != 0) Fail("mount at", root);
  if (chdir(root) != 0) Fail("change to", root);
  const int file = open(kName, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0755);
  if (file < 0) Fail("make a file in", root);
  close(file);
  if (mount(self, kName, nullptr, MS_BIND, nullptr) != 0) Fail("bind", self);
  if (mount(nullptr, kName, nullptr, kReadOnly, nullptr) != 0) Fail("make read-only", self);
  if (mount(nullptr, root, nullptr, kReadOnly, nullptr) != 0) Fail("make read-only", root);
  // The new root is stacked on the old at the same place; then the old one is detached.
  if (syscall(SYS_pivot_root, ".", ".") != 0) Fail("pivot_root to", root);
  if (umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) Fail("leave", "the host's root");
}

// Makes it a late choice of the OOM killer, where the machine permits that.
void LowerOomScore() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "-998", 4) < 0) errno = 0;
  close(fd);
}

// Becomes the init; `report`, close-on-exec, gets the error that kept it from starting.
[[noreturn]] void BecomeInit(int report) {
  for (int fd = 0; fd < kGo; ++fd) close(fd);
  char name[] = "plimsoll-pause";
  char how[] = "hold";
  char path[] = "/pause";
  char* arguments[] = {name, how, nullptr};
  char* environment[] = {nullptr};
  if (setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
      setresuid(kNobody, kNobody, kNobody) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) {
    execve(path, arguments, environment);
  }
  const int error = errno;
  if (write(report, &error, sizeof(error)) < 0) _exit(2);
  _exit(1);
}

int Make(const char* root, char** namespaces) {
  // Steps that a user namespace would forbid come first.
  LowerOomScore();
  char self[PATH_MAX] = {};
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0) Fail("read", "/proc/self/exe");
  for (; *namespaces != nullptr; ++namespaces) Join(*namespaces);
  BecomeRoot();
  EnterRoot(root, self);
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) Fail("make", "a pipe");
  if (unshare(CLONE_NEWPID) != 0) Fail("unshare", "PID namespace");
  const pid_t init = fork();
  if (init < 0) Fail("start", "the init");
  if (init == 0) BecomeInit(report[1]);
  close(report[1]);
  int error = 0;
  if (read(report[0], &error, sizeof(error)) > 0) {
    waitpid(init, nullptr, 0);
    errno = error;
    Fail("start the init in", root);
  }
  printf("%d\n", static_cast<int>(init));
  return fflush(stdout) == 0 ? 0 : 1;
}

// Runs as pid 1. All signals are blocked and waited for: an init ignores unblocked signals by
// default.
int Hold() {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  char go = 0;
  ssize_t n = 0;
  do {
    n = read(kGo, &go, 1);
  } while (n < 0 && errno == EINTR);
  if (n != 1) return 0;
  close(kGo);
  while (true) {
    siginfo_t info;
    const int signal = sigwaitinfo(&all, &info);
    // A sender outside the namespace has no pid in it.
    if ((signal == SIGTERM || signal == SIGINT) && info.si_pid == 0) return 0;
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--version") == 0) {
    dprintf(1, "plimsoll-pause version %s\n", PLIMSOLL_VERSION);
    return 0;
  }
  if (argc >= 3 && strcmp(argv[1], "make") == 0) return Make(argv[2], argv + 3);
  if (argc == 2 && strcmp(argv[1], "hold") == 0 && getpid() == 1) return Hold();
  dprintf(2,
          "usage: plimsoll-pause make ROOT [NAMESPACE...]\n"
          "Started by plimsolld; of no use by hand.\n");
  return 2;
}
