#include "linux/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

struct ProcessStat {
  char state = '?';
  uint64_t start_time_ticks = 0;
};

absl::Status NoSuchProcess(pid_t pid) {
  return absl::NotFoundError(absl::StrCat("no process ", pid));
}

// ESRCH is what a file of /proc gives when its process has gone since it was opened.
absl::Status GoneOr(const absl::Status& status, pid_t pid) {
  if (ErrnoOf(status) == ESRCH || ErrnoOf(status) == ENOENT) return NoSuchProcess(pid);
  return status;
}

// proc(5): "pid (comm) state ppid ...". The name may hold blanks and brackets of its own.
absl::StatusOr<ProcessStat> ReadStat(const FsRoot& root, pid_t pid) {
  const auto text = root.Read(absl::StrCat("proc/", pid, "/stat"));
  if (!text.ok()) return GoneOr(text.status(), pid);
  ProcessStat stat;
  const size_t bracket = text->rfind(')');
  if (bracket != std::string::npos) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(absl::string_view(*text).substr(bracket + 1), ' ', absl::SkipWhitespace());
    // Field 3, the state, is the first after the name; field 22 the 20th.
    if (fields.size() >= 20 && absl::SimpleAtoi(fields[19], &stat.start_time_ticks)) {
      stat.state = fields[0][0];
      return stat;
    }
  }
  return absl::InternalError(
      absl::StrCat(root.PathOf(absl::StrCat("proc/", pid, "/stat")), ": not understood"));
}

}  // namespace

absl::StatusOr<ProcessId> IdentifyProcess(const FsRoot& root, pid_t pid) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ProcessStat stat, ReadStat(root, pid));
  return ProcessId{.pid = pid, .start_time_ticks = stat.start_time_ticks};
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
  struct pollfd exited = {.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = poll(&exited, 1, 0);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

bool IsRunning(const FsRoot& root, const ProcessId& id) {
  const auto stat = ReadStat(root, id.pid);
  return stat.ok() && stat->start_time_ticks == id.start_time_ticks && stat->state != 'Z' &&
         stat->state != 'X';
}

absl::StatusOr<int> ReadOomScoreAdj(const FsRoot& root, pid_t pid) {
  const std::string file = absl::StrCat("proc/", pid, "/oom_score_adj");
  const auto text = root.Read(file);
  if (!text.ok()) return GoneOr(text.status(), pid);
  int value = 0;
  if (!absl::SimpleAtoi(*text, &value)) {
    return absl::InternalError(absl::StrCat(root.PathOf(file), ": not a number: ", *text));
  }
  return value;
}

absl::Status WriteOomScoreAdj(const FsRoot& root, pid_t pid, int value) {
  if (value < -1000 || value > 1000) {
    return absl::InvalidArgumentError(
        absl::StrCat("oom_score_adj ", value, " is not in -1000 to 1000"));
  }
  const absl::Status status =
      root.Write(absl::StrCat("proc/", pid, "/oom_score_adj"), absl::StrCat(value));
  if (absl::IsPermissionDenied(status)) {
    return absl::PermissionDeniedError(
        absl::StrCat(status.message(), " (to lower it needs CAP_SYS_RESOURCE)"));
  }
  return GoneOr(status, pid);
}

absl::StatusOr<std::string> ReadBootId(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, root.Read("proc/sys/kernel/random/boot_id"));
  return std::string(absl::StripAsciiWhitespace(text));
}

absl::StatusOr<bool> HasCapability(const FsRoot& root, int capability) {
  if (capability < 0 || capability > 63) {
    return absl::InvalidArgumentError(absl::StrCat("no capability has the number ", capability));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, root.Read("proc/self/status"));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    uint64_t effective = 0;
    if (absl::ConsumePrefix(&line, "CapEff:") &&
        absl::SimpleHexAtoi(absl::StripAsciiWhitespace(line), &effective)) {
      return ((effective >> capability) & 1) != 0;
    }
  }
  return absl::InternalError(absl::StrCat(root.PathOf("proc/self/status"), ": no CapEff line"));
}

}  // namespace plimsoll::linux
