#include "runtime/pause.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/own_program.h"
#include "base/status.h"
#include "base/subprocess.h"

namespace plimsoll::runtime {
namespace {

constexpr int kGoDescriptor = 3;  // as plimsoll-pause knows it
constexpr char kRoot[] = "pause";
constexpr absl::Duration kLongest = absl::Hours(1);  // of one poll(2)

}  // namespace

absl::Status HeldPause::Release() {
  const char go = 1;
  if (send(go_.get(), &go, 1, MSG_NOSIGNAL) != 1) {
    return ErrnoStatus(errno, absl::StrCat("release process ", id_.pid, " of the PID namespace"));
  }
  go_.Reset();
  return absl::OkStatus();
}

absl::StatusOr<HeldPause> StartPause(const FsRoot& host, const FsRoot& directory,
                                     const std::string& program,
                                     const std::vector<std::string>& namespaces) {
  Command command;
  if (program.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(command.executable, FindOwnProgram("plimsoll-pause"));
  } else {
    command.executable = program;
  }
  PLIMSOLL_RETURN_IF_ERROR(directory.MakeDirs(kRoot));
  command.argv = {"plimsoll-pause", "make", directory.PathOf(kRoot)};
  command.argv.insert(command.argv.end(), namespaces.begin(), namespaces.end());
  int ends[2];  // no pipe: writing to one whose reader has gone is a signal
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "socketpair");
  }
  const UniqueFd theirs(ends[0]);
  UniqueFd go(ends[1]);
  command.descriptors = {{theirs.get(), kGoDescriptor}};
  const absl::StatusOr<std::string> out = RunChecked(std::move(command));
  if (!out.ok()) return Annotate(out.status(), "make a PID namespace for the pod");
  int pid = 0;
  if (!absl::SimpleAtoi(*out, &pid)) {
    return absl::InternalError(absl::StrCat("plimsoll-pause said \"", *out, "\", not a pid"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::ProcessId id, linux::IdentifyProcess(host, pid));
  return HeldPause(id, std::move(go));
}

absl::Status EndPause(const FsRoot& host, const linux::ProcessId& id, absl::Time deadline) {
  const absl::StatusOr<UniqueFd> pidfd = linux::OpenProcess(host, id);
  if (absl::IsNotFound(pidfd.status())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(pidfd.status());
  const absl::Status sent = linux::SignalProcess(*pidfd, SIGKILL);
  if (!sent.ok() && !absl::IsNotFound(sent)) return sent;
  while (true) {
    struct pollfd poller = {pidfd->get(), POLLIN, 0};
    const absl::Duration left = std::clamp(deadline - absl::Now(), absl::ZeroDuration(), kLongest);
    const int ready = poll(&poller, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (ready > 0) return absl::OkStatus();
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && absl::Now() < deadline) continue;
    return absl::DeadlineExceededError(
        absl::StrCat("process ", id.pid, ", the init of a pod's PID namespace, survives SIGKILL"));
  }
}

}  // namespace plimsoll::runtime
