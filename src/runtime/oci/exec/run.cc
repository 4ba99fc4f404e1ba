#include "runtime/oci/exec/run.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "runtime/oci/exec/captured_output.h"
#include "runtime/oci/exec/command.h"
#include "runtime/oci/exec/group.h"

namespace plimsoll::runtime {
namespace {

enum class Ending { kExit, kTimeout, kStopping, kCancelled };

// Descriptors that end a call from outside, in the order of Ending's last two. -1 never does.
using CancelFds = std::array<int, 2>;

// Collects output until the process ends, the deadline comes or one of `cancel` is readable.
Ending Collect(int pidfd, const CancelFds& cancel, SteadyTime deadline, CapturedOutput* output) {
  while (true) {
    struct pollfd polls[5] = {{pidfd, POLLIN, 0},
                              {output->reader(CapturedOutput::kOut), POLLIN, 0},
                              {output->reader(CapturedOutput::kErr), POLLIN, 0},
                              {cancel[0], POLLIN, 0},
                              {cancel[1], POLLIN, 0}};
    int64_t wait = -1;
    if (deadline != kNever) {
      wait = std::clamp<int64_t>(absl::ToInt64Milliseconds(TimeUntil(deadline)) + 1, 0, 1 << 30);
    }
    if (poll(polls, 5, static_cast<int>(wait)) < 0) continue;  // EINTR
    if (polls[1].revents != 0) output->Read(CapturedOutput::kOut);
    if (polls[2].revents != 0) output->Read(CapturedOutput::kErr);
    if (polls[0].revents != 0) break;
    if (polls[3].revents != 0) return Ending::kStopping;
    if (polls[4].revents != 0) return Ending::kCancelled;
    // Checked even if the output never pauses.
    if (SteadyNow() >= deadline) return Ending::kTimeout;
  }
  output->ReadRest();
  return Ending::kExit;
}

// The error of a command that didn't end by itself. `killed`: how its killing went.
absl::Status CutOff(Ending ending, absl::string_view id, const ExecRequest& request,
                    const absl::Status& killed) {
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
  return absl::UnavailableError(absl::StrCat(what, " not finished as the daemon stops", end));
}

// The result of a command that has ended, or the reason for which it was never executed. `message`
// is the OCI runtime's.
absl::StatusOr<ExecResult> Finish(const ExecTools& tools, absl::string_view id,
                                  const ExecRequest& request, const std::optional<ExecGroup>& group,
                                  const std::string& message, Child* child,
                                  CapturedOutput* output) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ExitStatus exit, child->Wait());
  // The launcher finds the container's group by its path, which vanishes when the container ends.
  const bool launched = exit.code != 1 || !message.empty() ||
                        !absl::StartsWith(output->text(CapturedOutput::kErr), "plimsoll: ");
  if (group && !launched && !group->HasContainer()) {
    return TranslateExecFailure(tools, "the container is not running", request, id);
  }
  absl::StatusOr<ExecResult> result =
      !exit.success() && !message.empty()
          ? TranslateExecFailure(tools, message, request, id)
          : ExecResult{.exit_code = exit.code,
                       .out = output->TakeText(CapturedOutput::kOut),
                       .err = output->TakeText(CapturedOutput::kErr)};
  const bool is_silent = result.ok() && result->exit_code == kSilentExecFailure &&
                         result->out.empty() && result->err.empty();
  if (is_silent || absl::IsInternal(result.status())) {
    PLIMSOLL_RETURN_IF_ERROR(CheckContainer(tools, id, request, message));
  }
  return result;
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
  CapturedOutput output(request.max_output_bytes, request.output_share);
  absl::StatusOr<Child> child = [&]() -> absl::StatusOr<Child> {
    PLIMSOLL_RETURN_IF_ERROR(output.Open());
    PLIMSOLL_ASSIGN_OR_RETURN(Command command,
                              MakeExecCommand(tools, id, cgroup_path, request, group, &own));
    command.descriptors.emplace_back(output.writer(CapturedOutput::kOut), 1);
    command.descriptors.emplace_back(output.writer(CapturedOutput::kErr), 2);
    return Spawn(command);
  }();
  if (!child.ok()) {
    if (group) group->Remove();
    return child.status();
  }
  output.CloseWriters();
  std::optional<EnteringProcesses::Entry> entry;
  if (tools.entering != nullptr) entry.emplace(tools.entering, id, child->pid());
  const CancelFds cancel = {tools.cancel_fd,
                            request.cancellation == nullptr ? -1 : request.cancellation->fd()};
  own.entered.Await(cancel, deadline);
  if (request.entered) request.entered();
  const Ending ending = Collect(child->pidfd(), cancel, deadline, &output);
  absl::Status killed;
  if (ending != Ending::kExit) {
    killed = KillExec(tools, cgroup_path, group, &*child);
  }
  if (group) group->Remove();
  if (ending != Ending::kExit) return CutOff(ending, id, request, killed);
  return Finish(tools, id, request, group, own.RuntimeMessage(), &*child, &output);
}

}  // namespace plimsoll::runtime
