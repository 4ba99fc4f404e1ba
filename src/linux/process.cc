#include "linux/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/monotonic_time.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

constexpr char kOomScoreAdj[] = "oom_score_adj";
constexpr absl::Duration kLongestPoll = absl::Hours(1);  // of one poll(2)

absl::Status NoSuchProcess(pid_t pid) {
  return absl::NotFoundError(absl::StrCat("no process ", pid));
}

// A file of /proc gives ESRCH when its process has ended since it was opened.
absl::Status GoneOr(const absl::Status& status, pid_t pid) {
  if (ErrnoOf(status) == ESRCH || ErrnoOf(status) == ENOENT) return NoSuchProcess(pid);
  return status;
}

// PF_EXITING and PF_SIGNALED of the kernel's task flags, field 9. A signal that kills sets the
// latter.
constexpr uint64_t kEnding = 0x4 | 0x400;

// proc(5): "pid (comm) state ppid ...". The name may hold blanks and brackets of its own.
absl::StatusOr<ProcessEntry> ReadStat(const FsRoot& root, const std::string& file, pid_t pid) {
  const auto text = root.Read(file);
  if (!text.ok()) return GoneOr(text.status(), pid);
  ProcessEntry entry;
  entry.id.pid = pid;
  const size_t bracket = text->rfind(')');
  if (bracket != std::string::npos) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(absl::string_view(*text).substr(bracket + 1), ' ', absl::SkipWhitespace());
    // Field 3, the state, is the first after the name; field 22 the 20th.
    uint64_t flags = 0;
    if (fields.size() >= 20 && absl::SimpleAtoi(fields[1], &entry.parent) &&
        absl::SimpleAtoi(fields[6], &flags) &&
        absl::SimpleAtoi(fields[19], &entry.id.start_time_ticks)) {
      entry.zombie = fields[0] == "Z" || fields[0] == "X";
      uint64_t pending = 0;  // field 31
      const bool killed = fields.size() > 28 && absl::SimpleAtoi(fields[28], &pending) &&
                          (pending & uint64_t{1} << (SIGKILL - 1)) != 0;
      entry.ending = entry.zombie || killed || (flags & kEnding) != 0;
      return entry;
    }
  }
  return absl::InternalError(absl::StrCat(root.PathOf(file), ": not understood"));
}

// The directory in proc/ of exactly that process. Held open, it never becomes another's.
absl::StatusOr<FsRoot> OpenDirectory(const FsRoot& root, const ProcessId& id) {
  absl::StatusOr<FsRoot> directory = root.Sub(absl::StrCat("proc/", id.pid));
  if (!directory.ok()) return GoneOr(directory.status(), id.pid);
  PLIMSOLL_ASSIGN_OR_RETURN(const ProcessEntry entry, ReadStat(*directory, "stat", id.pid));
  if (entry.id != id) return NoSuchProcess(id.pid);
  return directory;
}

}  // namespace

absl::StatusOr<ProcessEntry> ReadProcess(const FsRoot& root, pid_t pid) {
  return ReadStat(root, absl::StrCat("proc/", pid, "/stat"), pid);
}

absl::StatusOr<ProcessId> IdentifyProcess(const FsRoot& root, pid_t pid) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ProcessEntry entry, ReadProcess(root, pid));
  return entry.id;
}

absl::StatusOr<UniqueFd> OpenPidfd(pid_t pid) {
  if (pid <= 0) return NoSuchProcess(pid);
  // By number: glibc 2.36 declares these without extern "C".
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd.valid()) return pidfd;
  // EINVAL: the number is a thread's.
  if (errno == ESRCH || errno == EINVAL) return NoSuchProcess(pid);
  return ErrnoStatus(errno, absl::StrCat("pidfd_open ", pid));
}

absl::StatusOr<UniqueFd> OpenProcess(const FsRoot& root, const ProcessId& id) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd pidfd, OpenPidfd(id.pid));
  // Compared after opening: as long as the descriptor's process lives, the pid is its own.
  PLIMSOLL_ASSIGN_OR_RETURN(const ProcessId now, IdentifyProcess(root, id.pid));
  if (now != id) return NoSuchProcess(id.pid);
  return pidfd;
}

absl::Status SignalProcess(const UniqueFd& pidfd, int signal) {
  if (syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0) {
    return absl::OkStatus();
  }
  if (errno == ESRCH) return absl::NotFoundError("the process has exited");
  return ErrnoStatus(errno, absl::StrCat("send signal ", signal));
}

bool HasExited(const UniqueFd& pidfd) {
  return AwaitExit(pidfd, absl::InfinitePast());
}

bool AwaitExit(const UniqueFd& pidfd, absl::Time deadline) {
  while (true) {
    struct pollfd exited = {.fd = pidfd.get(), .events = POLLIN, .revents = 0};
    const absl::Duration left =
        std::clamp(deadline - MonotonicNow(), absl::ZeroDuration(), kLongestPoll);
    const int ready = poll(&exited, 1, static_cast<int>(absl::ToInt64Milliseconds(left)));
    if (ready > 0) return true;
    if (ready == 0 && MonotonicNow() >= deadline) return false;
    if (ready < 0 && errno != EINTR) return false;
  }
}

absl::Status KillProcess(const FsRoot& root, const ProcessId& id) {
  return KillAndAwait(root, id, absl::InfinitePast());
}

absl::Status KillAndAwait(const FsRoot& root, const ProcessId& id, absl::Time deadline) {
  const absl::StatusOr<UniqueFd> pidfd = OpenProcess(root, id);
  absl::Status sent = pidfd.ok() ? SignalProcess(*pidfd, SIGKILL) : pidfd.status();
  if (absl::IsNotFound(sent)) return absl::OkStatus();
  if (!sent.ok()) return Annotate(sent, absl::StrCat("kill process ", id.pid));
  if (deadline == absl::InfinitePast() || AwaitExit(*pidfd, deadline)) return absl::OkStatus();
  return absl::DeadlineExceededError(absl::StrCat("process ", id.pid, " survives SIGKILL"));
}

absl::StatusOr<bool> IsRunning(const FsRoot& root, const ProcessId& id) {
  const absl::StatusOr<ProcessEntry> entry = ReadProcess(root, id.pid);
  if (absl::IsNotFound(entry.status())) return false;
  PLIMSOLL_RETURN_IF_ERROR(entry.status());
  return entry->id == id && !entry->zombie;
}

bool HasEndedOrIsEnding(const FsRoot& root, const ProcessId& id) {
  const absl::StatusOr<ProcessEntry> entry = ReadProcess(root, id.pid);
  if (!entry.ok()) return absl::IsNotFound(entry.status());
  return entry->ending || (id.start_time_ticks != 0 && entry->id != id);
}

absl::StatusOr<int> ReadOomScoreAdj(const FsRoot& root, const ProcessId& id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, OpenDirectory(root, id));
  const auto text = directory.Read(kOomScoreAdj);
  if (!text.ok()) return GoneOr(text.status(), id.pid);
  int value = 0;
  if (!absl::SimpleAtoi(*text, &value)) {
    return absl::InternalError(
        absl::StrCat(directory.PathOf(kOomScoreAdj), ": not a number: ", *text));
  }
  return value;
}

absl::Status WriteOomScoreAdj(const FsRoot& root, const ProcessId& id, int value) {
  if (value < -1000 || value > 1000) {
    return absl::InvalidArgumentError(
        absl::StrCat("oom_score_adj ", value, " is not in -1000 to 1000"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot directory, OpenDirectory(root, id));
  const absl::Status status = directory.Write(kOomScoreAdj, absl::StrCat(value));
  if (absl::IsPermissionDenied(status)) {
    return absl::PermissionDeniedError(
        absl::StrCat(status.message(), " (to lower it needs CAP_SYS_RESOURCE)"));
  }
  return GoneOr(status, id.pid);
}

absl::StatusOr<std::string> ReadBootId(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, root.Read("proc/sys/kernel/random/boot_id"));
  return std::string(absl::StripAsciiWhitespace(text));
}

}  // namespace plimsoll::linux
