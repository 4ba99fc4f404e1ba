#include "runtime/oci/exec/stream.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/programs/pipe.h"
#include "base/status.h"
#include "runtime/oci/exec/strays.h"
#include "runtime/oci/exec/terminal.h"

namespace plimsoll::runtime {
namespace {

constexpr absl::Duration kTerminal = absl::Seconds(30);
constexpr absl::Duration kReaped = absl::Seconds(5);
// The longest time in which crun looks at the container and forks. The pauses between looks for
// that grow; they stay short, as the client's session waits for them.
constexpr absl::Duration kEntering = absl::Seconds(5);
constexpr int kFirstPauseMs = 1;
constexpr int kLongestPauseMs = 10;

class Running final : public RunningCommand {
 public:
  Running(ExecTools tools, absl::string_view id, absl::string_view cgroup_path, ExecRequest request)
      : tools_(std::move(tools)), id_(id), cgroup_path_(cgroup_path), request_(std::move(request)) {
    // They belong to the caller, who may be gone.
    request_.cancellation = nullptr;
    request_.entered = nullptr;
  }
  ~Running() override {
    streams_ = CommandStreams();
    if (child_.has_value()) Kill().IgnoreError();
  }

  absl::Status Start(const ExecRequest& request, const FsRoot& bundle);

  CommandStreams& streams() override { return streams_; }
  int ended_fd() const override { return child_->pidfd(); }
  absl::StatusOr<CommandEnd> Finish() override;
  absl::Status Kill() override;

 private:
  // Adds a pipe with one end as the command's descriptor `to`.
  absl::Status AddPipe(int to, UniqueFd* ours, Command* command);
  bool HasEndedItself() const;
  bool HasForked() const;
  absl::Status AwaitEntry();

  const ExecTools tools_;
  const std::string id_;
  const std::string cgroup_path_;
  ExecRequest request_;
  ExecDescriptors own_;
  CommandStreams streams_;
  std::vector<UniqueFd> theirs_;
  std::optional<Child> child_;
  std::optional<EnteringProcesses::Entry> entry_;
};

absl::Status Running::AddPipe(int to, UniqueFd* ours, Command* command) {
  PLIMSOLL_ASSIGN_OR_RETURN(Pipe made, MakePipe());
  const bool reads = to == 0;
  *ours = std::move(reads ? made.writer : made.reader);
  theirs_.push_back(std::move(reads ? made.reader : made.writer));
  PLIMSOLL_RETURN_IF_ERROR(SetNonBlocking(*ours));
  command->descriptors.emplace_back(theirs_.back().get(), to);
  return absl::OkStatus();
}

bool Running::HasEndedItself() const {
  pollfd look = {child_->pidfd(), POLLIN, 0};
  return poll(&look, 1, 0) > 0;
}

// Whether any of its threads has a child: runc has several threads, and a child of an ended one
// passes to another. True also where /proc can't be read.
bool Running::HasForked() const {
  const std::string tasks = absl::StrCat("proc/", child_->pid(), "/task");
  const absl::StatusOr<std::vector<std::string>> threads = tools_.host.List(tasks);
  if (!threads.ok()) return true;
  return absl::c_any_of(*threads, [&](const std::string& thread) {
    const auto children = tools_.host.Read(absl::StrCat(tasks, "/", thread, "/children"));
    if (children.ok()) return !children->empty();
    return !absl::IsNotFound(children.status()) && ErrnoOf(children.status()) != ESRCH;
  });
}

// Waits for the entry. A command refused because the container is frozen, or left to crun by
// plimsoll-exec, can be repeated as long as nobody has written to it. crun checks the container,
// and then forks.
absl::Status Running::AwaitEntry() {
  if (own_.direct) own_.entered.Await({child_->pidfd()}, SteadyAfter(kEntering));
  const absl::Time deadline = MonotonicNow() + kEntering;
  for (int pause = kFirstPauseMs; !own_.direct && MonotonicNow() < deadline;
       pause = std::min(2 * pause, kLongestPauseMs)) {
    pollfd look = {child_->pidfd(), POLLIN, 0};
    if (poll(&look, 1, pause) > 0) break;
    if (HasForked()) return absl::OkStatus();
  }
  // plimsoll-exec's supervisor reports its error before it ends.
  if (!own_.direct && !HasEndedItself()) return absl::OkStatus();
  const std::string message = own_.RuntimeMessage();
  if (message.empty()) return absl::OkStatus();
  const absl::Status failure = TranslateExecFailure(tools_, message, request_, id_).status();
  return absl::IsAborted(failure) ? failure : absl::OkStatus();
}

absl::Status Running::Start(const ExecRequest& request, const FsRoot& bundle) {
  std::optional<ExecTerminal> terminal;
  // runc takes a socket for the terminal only with --detach, with which it would not wait for the
  // command. Without, it makes the terminal itself and copies between it and its own.
  std::optional<HostTerminal> copied;
  own_.terminal = request.streams.terminal;
  if (own_.terminal && tools_.other.has_value()) {
    PLIMSOLL_ASSIGN_OR_RETURN(copied, MakeHostTerminal());
  } else if (own_.terminal) {
    terminal.emplace(bundle);
    PLIMSOLL_RETURN_IF_ERROR(terminal->Prepare());
    own_.console = terminal->console();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      Command command, MakeExecCommand(tools_, id_, cgroup_path_, request, std::nullopt, &own_));
  MarkCarrier(&command);
  command.working_directory = bundle.path();
  if (copied.has_value()) {
    for (const int stream : {0, 1, 2}) {
      command.descriptors.emplace_back(copied->slave.get(), stream);
    }
  }
  if (!request.streams.terminal) {
    if (request.streams.input) PLIMSOLL_RETURN_IF_ERROR(AddPipe(0, &streams_.input, &command));
    if (request.streams.output) PLIMSOLL_RETURN_IF_ERROR(AddPipe(1, &streams_.output, &command));
    if (request.streams.errors) PLIMSOLL_RETURN_IF_ERROR(AddPipe(2, &streams_.errors, &command));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(child_, Spawn(command));
  theirs_.clear();
  if (copied.has_value()) {
    streams_.terminal = std::move(copied->master);
    copied->slave.Reset();
  }
  if (tools_.entering != nullptr) entry_.emplace(tools_.entering, id_, child_->pid());
  const std::array<int, 2> cancel = {
      tools_.cancel_fd, request.cancellation == nullptr ? -1 : request.cancellation->fd()};
  own_.entered.Await(cancel, kNever);
  if (request.entered) request.entered();
  if (terminal.has_value()) {
    absl::StatusOr<UniqueFd> master =
        terminal->Receive(child_->pidfd(), tools_.cancel_fd, MonotonicNow() + kTerminal);
    // A process that has ended reports its error in the usual way.
    if (!master.ok() && !absl::IsNotFound(master.status())) return master.status();
    if (master.ok()) {
      streams_.terminal = *std::move(master);
      fcntl(streams_.terminal.get(), F_SETFL, fcntl(streams_.terminal.get(), F_GETFL) | O_NONBLOCK);
    }
  }
  return AwaitEntry();
}

absl::StatusOr<CommandEnd> Running::Finish() {
  PLIMSOLL_ASSIGN_OR_RETURN(const ExitStatus exit, child_->Wait(MonotonicNow() + kReaped));
  const std::string message = own_.RuntimeMessage();
  absl::StatusOr<ExecResult> result = ExecResult{.exit_code = exit.code};
  if (!exit.success() && !message.empty())
    result = TranslateExecFailure(tools_, message, request_, id_);
  const bool is_silent = result.ok() && result->exit_code == kSilentExecFailure;
  if (is_silent || absl::IsInternal(result.status())) {
    PLIMSOLL_RETURN_IF_ERROR(CheckContainer(tools_, id_, request_, message));
  }
  PLIMSOLL_RETURN_IF_ERROR(result.status());
  return CommandEnd{.exit_code = result->exit_code, .message = result->err};
}

absl::Status Running::Kill() {
  if (HasEndedItself()) return absl::OkStatus();
  return KillExec(tools_, cgroup_path_, std::nullopt, &*child_);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RunningCommand>> StartInContainer(const ExecTools& tools,
                                                                 absl::string_view id,
                                                                 absl::string_view cgroup_path,
                                                                 const ExecRequest& request,
                                                                 const FsRoot& bundle) {
  if (request.argv.empty()) return absl::InvalidArgumentError("exec: no command");
  auto running = std::make_unique<Running>(tools, id, cgroup_path, request);
  PLIMSOLL_RETURN_IF_ERROR(running->Start(request, bundle));
  return std::unique_ptr<RunningCommand>(std::move(running));
}

}  // namespace plimsoll::runtime
