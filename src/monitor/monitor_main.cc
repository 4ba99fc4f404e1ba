// plimsoll-monitor: creates one container, keeps its log, and records its exit. It outlives
// plimsolld, which starts it; protocol.h is their contract.
//
// Static and without the C++ library's start-up cost: there is one for each running container.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <initializer_list>

#include "monitor/control.h"
#include "monitor/creation.h"
#include "monitor/fail.h"
#include "monitor/protocol.h"
#include "monitor/tell_version.h"

namespace plimsoll::monitor {
namespace {

// Objects that live as long as the process; large, so not on the stack.
char plan_text[kMaxPlan];
LogFile log_file;
Attachments attachments;
OutputStream out("stdout", &log_file);
OutputStream err("stderr", &log_file);
CreateResult creation;

struct Exit {
  int code = 0;
  timespec at = {};
  bool never_ran = false;  // it ended by itself, before executing the container's program
};

// Takes the lock, which shows other processes which one is this container's monitor. Held to the
// end.
void TakeLock() {
  const int fd = open(kLockFile, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) Fail("open", kLockFile);
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (fcntl(fd, F_SETLK, &lock) != 0) Fail("lock (is there another monitor?)", kLockFile);
}

// False when the daemon is gone.
bool Tell(const char* text) {
  size_t left = strlen(text);
  while (left > 0) {
    const ssize_t n = send(kSyncDescriptor, text, left, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    text += n;
    left -= static_cast<size_t>(n);
  }
  return true;
}

// The end of the stream ends the message.
[[noreturn]] void GiveUp(const char* message) {
  Tell("error ");
  Tell(message);
  _exit(1);
}

// Whether the plan ends within the text: with an empty string. If so, `*size` becomes its size.
bool HasEnd(const char* text, size_t from, size_t* size) {
  for (size_t i = from > 1 ? from : 1; i < *size; ++i) {
    if (text[i] != '\0' || text[i - 1] != '\0') continue;
    *size = i + 1;
    return true;
  }
  return false;
}

// Ends the process if the daemon goes before the plan is complete. Descriptors may follow the plan;
// reading further would lose them.
LaunchPlan ReceivePlan() {
  size_t size = 0;
  while (true) {
    if (size == sizeof(plan_text)) GiveUp("the plan is too long");
    const size_t room = sizeof(plan_text) - size;
    const ssize_t ahead = recv(kSyncDescriptor, plan_text + size, room, MSG_PEEK);
    if (ahead < 0 && errno == EINTR) continue;
    if (ahead <= 0) _exit(1);
    size_t known = size + static_cast<size_t>(ahead);
    const bool ends = HasEnd(plan_text, size, &known);
    // All of it is there already.
    if (recv(kSyncDescriptor, plan_text + size, known - size, MSG_WAITALL) <= 0) _exit(1);
    size = known;
    if (ends) return LaunchPlan(plan_text, size - 1);
  }
}

// The returned descriptor carries SIGCHLD. Signals that end a session or a machine are ignored: the
// container acts on them, and the monitor stays to record its exit.
int PrepareSignals() {
  for (const int ignored : {SIGPIPE, SIGXFSZ, SIGHUP, SIGINT, SIGTERM}) signal(ignored, SIG_IGN);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  const int fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) Fail("make", "a signalfd");
  return fd;
}

// Also true of a zombie, whose program can't be read any more. False if unknown.
bool NeverExecuted(pid_t pid) {
  char path[32];
  char text[1024] = {};
  snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, text, sizeof(text) - 1);
  close(fd);
  // "pid (comm) state ppid pgrp session tty tpgid flags ..."; comm may have any bytes.
  const char* at = n > 0 ? strrchr(text, ')') : nullptr;
  unsigned flags = 0;
  constexpr unsigned kForkedOnly = 0x40;  // PF_FORKNOEXEC, include/linux/sched.h
  return at != nullptr && sscanf(at, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
         (flags & kForkedOnly) != 0;
}

// Reaps all ended children. True once init was among them.
bool Reap(pid_t init, Exit* exit) {
  siginfo_t ended = {};
  // Read before reaping: only the zombie has the flags.
  while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid > 0) {
    const pid_t pid = ended.si_pid;
    if (pid == init) exit->never_ran = ended.si_code == CLD_EXITED && NeverExecuted(init);
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == pid && pid == init) {
      clock_gettime(CLOCK_REALTIME, &exit->at);
      exit->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      return true;
    }
    ended = {};
  }
  return false;
}

// Carries output and answers requests until init ends.
Exit Watch(pid_t init, int signals, Control* control) {
  Exit exit;
  while (!Reap(init, &exit)) {
    constexpr int kOwn = 4;
    pollfd polls[kOwn + Attachments::kMaxPolls] = {{signals, POLLIN, 0},
                                                   {out.fd(), POLLIN, 0},
                                                   {err.fd(), POLLIN, 0},
                                                   {control->fd(), POLLIN, 0}};
    const int attached = attachments.Poll(polls + kOwn);
    constexpr int kLookAgainMilliseconds = 200;
    const auto count = nfds_t{kOwn} + static_cast<nfds_t>(attached);
    if (poll(polls, count, out.hung_up() ? kLookAgainMilliseconds : -1) < 0) continue;
    signalfd_siginfo ignored;
    if (polls[0].revents != 0 && read(signals, &ignored, sizeof(ignored)) < 0) continue;
    if (polls[1].revents != 0 || out.hung_up()) out.Pump();
    if (polls[2].revents != 0) err.Pump();
    attachments.Serve(polls + kOwn, attached);
    if (polls[3].revents != 0) control->Serve();
  }
  return exit;
}

// The file that becomes the record of the exit, preallocated: the disk may be full by then.
int PrepareExit() {
  constexpr int kMostBytes = 64;
  const int fd = open(kNewExitFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) Fail("make", kNewExitFile);
  if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, kMostBytes) != 0 && errno != EOPNOTSUPP) {
    Fail("reserve space for", kNewExitFile);
  }
  return fd;
}

// Call it after the streams' Finish. If the file can't be made, the exit counts as the program's.
void WriteStartError() {
  const char* words = *err.First() != '\0' ? err.First() : out.First();
  const int fd = open(kStartErrorFile, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return;
  dprintf(fd, "%s", words);
  close(fd);
}

void WriteExit(const Exit& exit, int file) {
  const long long nanos = exit.at.tv_sec * 1'000'000'000LL + exit.at.tv_nsec;
  const bool written = dprintf(file, "%d %lld\n", exit.code, nanos) > 0;
  // The rename fails if the directory is gone, and nobody will ask then.
  if (written) rename(kNewExitFile, kExitFile);
}

void Run(const char* id) {
  // Close-on-exec: processes left by the runtime would keep the daemon waiting for the stream's
  // end.
  fcntl(kSyncDescriptor, F_SETFD, FD_CLOEXEC);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const int signals = PrepareSignals();
  TakeLock();
  Tell("ready\n");
  const LaunchPlan plan = ReceivePlan();

  const char* log_path = plan.Get("log");
  const char* log_directory = plan.Get("log-directory");
  const int error = log_path == nullptr ? 0 : log_file.Open(log_path, log_directory);
  if (error != 0) {
    errno = error;
    Fail("open the container's log", log_path);
  }
  const char* log_max = plan.Get("log-max");
  if (log_path != nullptr && log_max != nullptr) log_file.LimitSize(log_path, atoll(log_max));
  const int exit_file = PrepareExit();
  Control control(&log_file, log_path, log_directory, &attachments);
  if (const int failed = control.Listen(); failed != 0) {
    errno = failed;
    Fail("listen at", kControlSocket);
  }
  CreateContainer(id, plan, &out, &err, &creation);
  if (creation.init < 0) GiveUp(creation.error);
  control.SetTerminal(creation.terminal);
  attachments.SetTerminal(creation.terminal);
  const bool is_terminal = creation.terminal >= 0;
  attachments.SetInput(!plan.Has("stdin") ? -1
                       : is_terminal      ? creation.terminal
                                          : creation.input,
                       is_terminal, plan.Has("stdin-once"));
  out.PassOn(&attachments, kPacketOutput);
  err.PassOn(&attachments, kPacketErrors);
  char message[32];
  snprintf(message, sizeof(message), "pid %d\n", creation.init);
  // A container that the daemon doesn't know of must go: the next daemon would remove it.
  if (!Tell(message)) kill(creation.init, SIGKILL);
  close(kSyncDescriptor);
  if (creation.mount_namespace >= 0) close(creation.mount_namespace);

  const Exit exit = Watch(creation.init, signals, &control);
  out.Finish();
  err.Finish();
  // Some OCI runtimes run the workload in their init (krun), which executes nothing and may
  // succeed.
  if (exit.never_ran && exit.code != 0 && plan.Has("executes")) WriteStartError();
  WriteExit(exit, exit_file);
  attachments.End();
}

}  // namespace
}  // namespace plimsoll::monitor

int main(int argc, char** argv) {
  if (plimsoll::monitor::TellVersion("plimsoll-monitor", argc, argv)) return 0;
  if (argc != 2) {
    dprintf(2, "usage: plimsoll-monitor ID\nStarted by plimsolld; of no use by hand.\n");
    return 2;
  }
  plimsoll::monitor::Run(argv[1]);
  // Not exit(3): no destructor has anything left to do.
  _exit(0);
}
