#include "cli/command/standalone.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/fs_root.h"
#include "base/monotonic_time.h"
#include "base/programs/pipe.h"
#include "base/programs/subprocess.h"
#include "base/socket_probe.h"
#include "base/status.h"
#include "cli/terminal/errors.h"

namespace plimsoll::cli {
namespace {

constexpr int kReadyFd = 3;  // in the daemon
constexpr absl::Duration kSocketInterval = absl::Milliseconds(10);
// A daemon that starts or ends has its lock for less.
constexpr absl::Duration kOrdinaryLock = absl::Seconds(2);

// flock has no deadline of its own, so this polls.
absl::Status LockBy(int fd, int operation, const std::string& path, absl::Time deadline) {
  while (flock(fd, operation | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return ErrnoStatus(errno, "flock " + path);
    if (MonotonicNow() > deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("lock ", path, ": another process holds it and does not let go"));
    }
    absl::SleepFor(kSocketInterval);
  }
  return absl::OkStatus();
}

// The end of the daemon's log.
std::string LogText(const FsRoot& run) {
  std::string words = run.Read("plimsolld.log").value_or("");
  if (words.size() > 4096) words.erase(0, words.size() - 4096);
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return words;
}

absl::Status WithFullDiskHint(const absl::Status& status) {
  return WithHint(
      status,
      "The disk is full. Free some space, or keep Plimsoll's files on another disk with "
      "--root DIRECTORY.");
}

// Whether the file system has no room, not even for the daemon's log. A tmpfs without a limit
// counts no blocks.
bool IsFull(const FsRoot& directory) {
  struct statvfs room = {};
  return fstatvfs(directory.fd(), &room) == 0 &&
         ((room.f_blocks > 0 && room.f_bavail == 0) || (room.f_files > 0 && room.f_favail == 0));
}

// Waits on the pipe. One byte: ready. End of file: the daemon gave up.
absl::Status AwaitReady(int fd, Child& child, const FsRoot& run, absl::Time deadline) {
  const std::string log = run.PathOf("plimsolld.log");
  pollfd waiting = {fd, POLLIN, 0};
  for (;;) {
    const int64_t left = absl::ToInt64Milliseconds(deadline - MonotonicNow());
    const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      child.Signal(SIGTERM).IgnoreError();
      return WithHint(absl::DeadlineExceededError("plimsolld did not get ready in time"),
                      absl::StrCat("See ", log, "."));
    }
    char byte = 0;
    const ssize_t count = read(fd, &byte, 1);
    if (count == 1) return absl::OkStatus();
    if (count < 0 && errno == EINTR) continue;
    break;
  }
  const auto exit = child.Wait(MonotonicNow() + absl::Seconds(5));
  const std::string words = LogText(run);
  const absl::Status failed = absl::FailedPreconditionError(
      absl::StrCat("plimsolld did not start (", exit.ok() ? exit->ToString() : "still ending", ")",
                   words.empty() ? absl::StrCat("; see ", log) : ":\n", words));
  const bool is_full = words.empty()
                           ? IsFull(run)
                           : absl::StrContains(absl::AsciiStrToLower(words), "no space left");
  return is_full ? WithFullDiskHint(failed) : failed;
}

// UNAVAILABLE if a killed plimsolld that no command started has left its socket in the run
// directory. A daemon of our own has its log beside the socket.
absl::Status CheckNoKilledService(const FsRoot& run) {
  if (!run.Has("plimsoll.sock").value_or(false) || run.Has("plimsolld.log").value_or(false)) {
    return absl::OkStatus();
  }
  return WithHint(absl::UnavailableError(
                      absl::StrCat("no daemon answers at unix://", run.PathOf("plimsoll.sock"),
                                   ": the socket was left by a plimsolld that was killed")),
                  "Start that plimsolld again. If it is to run no more, remove the socket.");
}

// " by process 12": the holder of the exclusive flock(2) of an open file, by /proc/locks, whose
// lines are like "3: FLOCK  ADVISORY  WRITE 12 00:1a:34 0 EOF"; empty: it isn't seen, as one of
// another process namespace.
std::string HolderOf(int fd) {
  struct stat file = {};
  if (fstat(fd, &file) != 0) return "";
  const std::string name =
      absl::StrFormat("%02x:%02x:%d", major(file.st_dev), minor(file.st_dev), file.st_ino);
  const std::string locks = FsRoot::Open("/")->Read("proc/locks").value_or("");
  for (const absl::string_view line : absl::StrSplit(locks, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() > 5 && words[1] == "FLOCK" && words[3] == "WRITE" && words[4] != "0" &&
        words[5] == name) {
      return absl::StrCat(" by process ", words[4]);
    }
  }
  return "";
}

// UNAVAILABLE if a process has the lock to itself until the deadline. `holder`: what it may be.
absl::Status CheckNotLocked(const FsRoot& run, const std::string& name, absl::string_view holder,
                            absl::Time deadline) {
  const absl::StatusOr<UniqueFd> lock = run.OpenFile(name, O_RDONLY);
  if (absl::IsNotFound(lock.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(lock.status());
  // Held for a moment only, and shared: other commands go on.
  const absl::Status locked = LockBy(lock->get(), LOCK_SH, run.PathOf(name), deadline);
  if (!absl::IsDeadlineExceeded(locked)) return locked;
  return WithHint(
      absl::UnavailableError(absl::StrCat(run.PathOf(name), " is locked", HolderOf(lock->get()),
                                          ", as by ", holder, ", and commands wait for it")),
      "If it stays so for a minute, end that process.");
}

absl::StatusOr<Child> StartDaemon(const StandaloneOptions& options, const FsRoot& run,
                                  absl::Time deadline) {
  std::string daemon = options.daemon;
  if (daemon.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(daemon, FindDaemon());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd log,
                            run.OpenFile("plimsolld.log", O_WRONLY | O_CREAT | O_APPEND, 0600));
  // The old log is of no use any more.
  if (ftruncate(log.get(), 0) != 0) return ErrnoStatus(errno, "truncate " + options.dirs.log());
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe ready, MakePipe());
  Command command;
  command.argv = {
      daemon,        "--standalone",        "--address", "unix://" + options.dirs.socket(),
      "--state-dir", options.dirs.state,    "--run-dir", options.dirs.run,
      "--ready-fd",  absl::StrCat(kReadyFd)};
  command.descriptors = {{log.get(), 1}, {log.get(), 2}, {ready.writer.get(), kReadyFd}};
  // Ctrl-C in this terminal is for this process, which ends the daemon in order.
  command.new_session = true;
  PLIMSOLL_ASSIGN_OR_RETURN(Child child, Spawn(command));
  ready.writer.Reset();
  PLIMSOLL_RETURN_IF_ERROR(AwaitReady(ready.reader.get(), child, run, deadline));
  return child;
}

// An absolute path without symbolic links in its existing part: the daemon has another working
// directory, and takes no other path.
std::string AbsolutePath(std::string path) {
  std::string missing;
  char resolved[PATH_MAX];
  for (;;) {
    if (realpath(path.empty() ? "." : path.c_str(), resolved) != nullptr) {
      const absl::string_view found = resolved;
      return absl::StrCat(found == "/" && !missing.empty() ? "" : found, missing);
    }
    const size_t cut = path.rfind('/');
    missing = absl::StrCat("/", path.substr(cut == std::string::npos ? 0 : cut + 1), missing);
    if (cut == 0) return missing;
    path = cut == std::string::npos ? "" : path.substr(0, cut);
  }
}

// Takes clients.lock, shared, in an existing run directory. An ending daemon removes the directory
// with the lock that was waited for: then this starts over.
absl::StatusOr<std::pair<FsRoot, UniqueFd>> HoldRunDirectory(const std::string& path,
                                                             absl::Time deadline) {
  for (;;) {
    PLIMSOLL_ASSIGN_OR_RETURN(FsRoot run, FsRoot::OpenOrCreate(path, 0755));
    absl::StatusOr<UniqueFd> lock = run.OpenFile("clients.lock", O_RDWR | O_CREAT, 0600);
    if (lock.ok()) {
      PLIMSOLL_RETURN_IF_ERROR(LockBy(lock->get(), LOCK_SH, run.PathOf("clients.lock"), deadline));
      struct stat held = {};
      const absl::StatusOr<struct stat> named = FsRoot::Open("/")->Stat(path + "/clients.lock");
      if (named.ok() && fstat(lock->get(), &held) == 0 && held.st_ino == named->st_ino &&
          held.st_dev == named->st_dev) {
        return std::make_pair(std::move(run), *std::move(lock));
      }
      if (MonotonicNow() > deadline) {
        return absl::DeadlineExceededError(absl::StrCat(
            "lock ", path, "/clients.lock: another file took its place again and again"));
      }
    } else if (!absl::IsNotFound(lock.status()) || MonotonicNow() > deadline) {
      return lock.status();
    }
  }
}

}  // namespace

StandaloneDirs StandaloneDirs::Below(const std::string& root) {
  StandaloneDirs dirs;
  if (root.empty()) return dirs;
  const std::string absolute = AbsolutePath(root);
  dirs.state = absl::StrCat(absl::StripSuffix(absolute, "/"), "/state");
  dirs.run = absl::StrCat(absl::StripSuffix(absolute, "/"), "/run");
  return dirs;
}

absl::StatusOr<std::string> FindDaemon() {
  const auto self = FsRoot::Open("/")->ReadLink("proc/self/exe");
  if (self.ok()) {
    const std::string beside = absl::StrCat(self->substr(0, self->rfind('/')), "/plimsolld");
    if (access(beside.c_str(), X_OK) == 0) return beside;
  }
  absl::StatusOr<std::string> found = FindProgram("plimsolld");
  if (found.ok()) return found;
  return WithHint(found.status(),
                  "No daemon is running, and the program to start one is not installed. Install "
                  "plimsolld, or name a running daemon with --address.");
}

absl::StatusOr<Standalone> Standalone::Join(const StandaloneOptions& options) {
  if (geteuid() != 0) {
    return WithHint(absl::PermissionDeniedError("a daemon of one's own needs root"),
                    "Run this as root, or start plimsolld and be a member of its socket's group.");
  }
  const absl::Time deadline = MonotonicNow() + options.timeout;
  auto held_or = HoldRunDirectory(options.dirs.run, deadline);
  if (ErrnoOf(held_or.status()) == ENOSPC) return WithFullDiskHint(held_or.status());
  PLIMSOLL_ASSIGN_OR_RETURN(auto held, std::move(held_or));
  const FsRoot& run = held.first;
  Standalone standalone;
  standalone.dirs_ = options.dirs;
  standalone.lock_ = std::move(held.second);
  PLIMSOLL_ASSIGN_OR_RETURN(const UniqueFd start,
                            run.OpenFile("start.lock", O_RDWR | O_CREAT, 0600));
  PLIMSOLL_RETURN_IF_ERROR(LockBy(start.get(), LOCK_EX, run.PathOf("start.lock"), deadline));
  const absl::Status listening = ProbeSocket(options.dirs.socket());
  if (listening.ok()) return standalone;
  if (!absl::IsNotFound(listening)) return listening;
  PLIMSOLL_RETURN_IF_ERROR(CheckNoKilledService(run));
  PLIMSOLL_ASSIGN_OR_RETURN(standalone.child_, StartDaemon(options, run, deadline));
  return standalone;
}

std::vector<absl::Status> StartHindrances(const StandaloneDirs& dirs) {
  std::vector<absl::Status> hindrances;
  const auto add = [&hindrances](const absl::Status& status) {
    if (!status.ok() && !absl::IsNotFound(status)) hindrances.push_back(status);
  };
  const absl::Status listening = ProbeSocket(dirs.socket());
  if (listening.ok()) return {};
  const absl::StatusOr<FsRoot> run = FsRoot::Open(dirs.run);
  if (run.ok()) {
    add(listening);
    add(CheckNoKilledService(*run));
    const absl::Time deadline = MonotonicNow() + kOrdinaryLock;
    add(CheckNotLocked(*run, "clients.lock", "a daemon that ends", deadline));
    add(CheckNotLocked(*run, "start.lock", "a command that starts a daemon", deadline));
  }
  for (const std::string& path : {dirs.run, dirs.state}) {
    const absl::StatusOr<FsRoot> directory = FsRoot::Open(path);
    if (!directory.ok() || !IsFull(*directory)) continue;
    add(WithFullDiskHint(
        absl::ResourceExhaustedError(absl::StrCat("no space left on device for ", path))));
  }
  return hindrances;
}

void Standalone::Leave(absl::Duration patience) {
  if (!lock_.valid()) return;
  // Refused where another client holds the lock, or, rarely, where the daemon was quicker. Then the
  // wait is short.
  const bool last = flock(lock_.get(), LOCK_EX | LOCK_NB) == 0;
  lock_.Reset();
  const absl::Time deadline = MonotonicNow() + (last ? patience : absl::Milliseconds(300));
  if (child_.has_value()) {
    child_->Wait(deadline).IgnoreError();
    return;
  }
  // The daemon is another process' child. It removes the directory before it ends.
  while (MonotonicNow() < deadline && access(dirs_.run.c_str(), F_OK) == 0) {
    absl::SleepFor(kSocketInterval);
  }
}

}  // namespace plimsoll::cli
