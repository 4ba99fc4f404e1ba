#include "runtime/oci/exec.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "runtime/oci/exec_command.h"
#include "runtime/oci/exec_group.h"

namespace plimsoll::runtime {
namespace {

// One stream of the command, collected up to a limit.
class Output {
 public:
  absl::Status Open(size_t max_bytes) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
    reader_.Reset(fds[0]);
    writer_.Reset(fds[1]);
    fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
    max_ = max_bytes;
    return absl::OkStatus();
  }
  int reader() const { return reader_.get(); }
  int writer() const { return writer_.get(); }
  void CloseWriter() { writer_.Reset(); }

  // Takes some of what is there; how much, or 0 when there is nothing now or ever.
  size_t Take() {
    char buffer[65536];
    ssize_t n = -1;
    do {
      n = read(reader_.get(), buffer, sizeof(buffer));
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) return 0;
    if (n <= 0) {
      reader_.Reset();
      return 0;
    }
    const size_t taken = static_cast<size_t>(n);
    const size_t room = max_ - std::min(max_, text_.size());
    text_.append(buffer, std::min(room, taken));
    dropped_ = dropped_ || taken > room;
    return taken;
  }

  // What the command had written when it ended: never more than the pipe holds, whoever goes on
  // writing.
  void TakeRest() {
    const int capacity = fcntl(reader_.get(), F_GETPIPE_SZ);
    size_t left = capacity > 0 ? static_cast<size_t>(capacity) : 0;
    while (left > 0 && reader_.valid()) {
      const size_t taken = Take();
      if (taken == 0) break;
      left -= std::min(left, taken);
    }
    reader_.Reset();
  }

  bool StartsWith(absl::string_view text) const { return absl::StartsWith(text_, text); }
  std::string Text() && {
    if (dropped_)
      absl::StrAppend(&text_, "\n[plimsoll: output truncated after ", max_, " bytes]\n");
    return std::move(text_);
  }

 private:
  UniqueFd reader_;
  UniqueFd writer_;
  std::string text_;
  size_t max_ = 0;
  bool dropped_ = false;
};

enum class Ending { kExit, kTimeout, kStopping, kCancelled };

// What ends a call from outside, in the order of Ending's last two. -1 never does.
using CancelFds = std::array<int, 2>;

// Collects until the process ends, the deadline comes or one of `cancel` is readable.
Ending Collect(int pidfd, const CancelFds& cancel, SteadyTime deadline, Output* out, Output* err) {
  while (true) {
    struct pollfd polls[5] = {{pidfd, POLLIN, 0},
                              {out->reader(), POLLIN, 0},
                              {err->reader(), POLLIN, 0},
                              {cancel[0], POLLIN, 0},
                              {cancel[1], POLLIN, 0}};
    int64_t wait = -1;
    if (deadline != kNever) {
      wait = std::clamp<int64_t>(absl::ToInt64Milliseconds(TimeUntil(deadline)) + 1, 0, 1 << 30);
    }
    if (poll(polls, 5, static_cast<int>(wait)) < 0) continue;  // EINTR
    if (polls[1].revents != 0) out->Take();
    if (polls[2].revents != 0) err->Take();
    if (polls[0].revents != 0) break;
    if (polls[3].revents != 0) return Ending::kStopping;
    if (polls[4].revents != 0) return Ending::kCancelled;
    // Output that never pauses doesn't put it off.
    if (SteadyNow() >= deadline) return Ending::kTimeout;
  }
  out->TakeRest();
  err->TakeRest();
  return Ending::kExit;
}

}  // namespace

absl::StatusOr<ExecResult> ExecInContainer(const ExecTools& tools, absl::string_view id,
                                           absl::string_view cgroup_path,
                                           const ExecRequest& request) {
  if (request.argv.empty()) return absl::InvalidArgumentError("exec: no command");
  SteadyTime deadline = kNever;
  std::optional<ExecGroup> group;
  if (request.timeout > absl::ZeroDuration()) {
    deadline = std::min(SteadyAfter(request.timeout), request.deadline);
    PLIMSOLL_ASSIGN_OR_RETURN(group, ExecGroup::Make(tools.host, tools.layout, cgroup_path));
  }
  ExecDescriptors own;
  Output out;
  Output err;
  absl::StatusOr<Child> child = [&]() -> absl::StatusOr<Child> {
    PLIMSOLL_RETURN_IF_ERROR(out.Open(request.max_output_bytes));
    PLIMSOLL_RETURN_IF_ERROR(err.Open(request.max_output_bytes));
    PLIMSOLL_ASSIGN_OR_RETURN(Command command,
                              MakeExecCommand(tools, id, cgroup_path, request, group, &own));
    command.descriptors.emplace_back(out.writer(), 1);
    command.descriptors.emplace_back(err.writer(), 2);
    return Spawn(command);
  }();
  if (!child.ok()) {
    if (group) group->Remove();
    return child.status();
  }
  out.CloseWriter();
  err.CloseWriter();
  std::optional<EnteringProcesses::Entry> entry;
  if (tools.entering != nullptr) entry.emplace(tools.entering, id, child->pid());
  const CancelFds cancel = {tools.cancel_fd,
                            request.cancellation == nullptr ? -1 : request.cancellation->fd()};
  own.entered.Await(cancel, deadline);
  if (request.entered) request.entered();
  const Ending ending = Collect(child->pidfd(), cancel, deadline, &out, &err);
  absl::Status killed;
  if (ending != Ending::kExit) {
    killed = KillExec(tools, cgroup_path, group, &*child);
  }
  if (group) group->Remove();
  const std::string what = absl::StrCat("exec in container ", id, ": \"", request.argv[0], "\"");
  const std::string end = killed.ok() ? ", killed" : absl::StrCat(": ", killed.message());
  if (ending == Ending::kTimeout) {
    return absl::DeadlineExceededError(
        absl::StrCat(what, " not finished after ", absl::FormatDuration(request.timeout), end));
  }
  if (ending == Ending::kCancelled) {
    return absl::CancelledError(
        absl::StrCat(what, " not finished when its client went or gave up waiting", end));
  }
  if (ending == Ending::kStopping) {
    return absl::UnavailableError(absl::StrCat(what, " not finished as the daemon stops", end));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const ExitStatus exit, child->Wait());
  const std::string message = own.RuntimeMessage();
  // The launcher finds the container's group by its path, which a container that ends takes away.
  const bool launched = exit.code != 1 || !message.empty() || !err.StartsWith("plimsoll: ");
  if (group && !launched && !group->HasContainer())
    return TranslateExecFailure(tools, "the container is not running", request, id);
  absl::StatusOr<ExecResult> result =
      !exit.success() && !message.empty()
          ? TranslateExecFailure(tools, message, request, id)
          : ExecResult{
                .exit_code = exit.code, .out = std::move(out).Text(), .err = std::move(err).Text()};
  const bool is_silent = result.ok() && result->exit_code == kSilentExecFailure &&
                         result->out.empty() && result->err.empty();
  if (is_silent || absl::IsInternal(result.status())) {
    PLIMSOLL_RETURN_IF_ERROR(CheckContainer(tools, id, request, message));
  }
  return result;
}

}  // namespace plimsoll::runtime
