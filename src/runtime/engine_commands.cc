#include "runtime/engine_commands.h"

#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "linux/cgroup/cgroup.h"
#include "linux/network_socket.h"
#include "linux/process.h"
#include "runtime/log_place.h"
#include "runtime/objects/sandbox_place.h"
#include "runtime/objects/state_machine.h"

namespace plimsoll::runtime {
namespace {

constexpr absl::Duration kFrozen = absl::Seconds(10);  // longer than any change of class takes
constexpr absl::Duration kThawed = absl::Milliseconds(5);
// Each further try keeps class changes away for this much longer.
constexpr absl::Duration kHold = absl::Milliseconds(25);
constexpr absl::Duration kLongestHold = absl::Milliseconds(500);

// A reader's lock that can be released before its scope ends, which the analysis of locks can't
// follow.
class ReleasableReaderLock {
 public:
  explicit ReleasableReaderLock(absl::Mutex* mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS : mutex_(mutex) {
    mutex_->ReaderLock();
  }
  ~ReleasableReaderLock() { Release(); }
  ReleasableReaderLock(const ReleasableReaderLock&) = delete;
  ReleasableReaderLock& operator=(const ReleasableReaderLock&) = delete;

  void Release() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (mutex_ != nullptr) std::exchange(mutex_, nullptr)->ReaderUnlock();
  }

 private:
  absl::Mutex* mutex_;
};

absl::Status CheckRunning(const ContainerRecord& record, absl::string_view what) {
  if (record.state == ContainerState::kRunning) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("container ", record.id, " is ",
                                                    StateName(record.state), "; ", what,
                                                    " needs one that is Running"));
}

// The parts that OrLost looks at. They outlive the engine, as a streamed command may.
struct Surroundings {
  explicit Surroundings(const EngineOptions& options)
      : host(options.host), cgroups(options.cgroups), runtime(options.runtime) {}

  FsRoot host;
  linux::CgroupManager* cgroups;
  ContainerRuntime* runtime;
};

// If a container's group or files are lost, the OCI runtime says that the container doesn't run.
absl::Status OrLost(const Surroundings& around, const ContainerRecord& record,
                    const absl::Status& status) {
  if (!absl::IsFailedPrecondition(status) && !absl::IsNotFound(status) &&
      !absl::IsInternal(status)) {
    return status;
  }
  if (!linux::IsRunning(around.host, record.init).value_or(false)) return status;
  std::string lost;
  if (!around.cgroups->Exists(record.cgroup_path).value_or(true)) {
    lost = absl::StrCat("its control group ", record.cgroup_path);
  } else if (const auto started = around.runtime->StartedAt(record.id, record.init);
             started.ok() && !started->has_value()) {
    lost = "the OCI runtime's state of it";
  } else {
    return status;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("exec: container ", record.id, " runs, but ", lost, " is gone, and without it ",
                   "no command can be started; remove the container and make it again (",
                   status.message(), ")"));
}

// A command whose failure is reported by OrLost. It may outlive the engine.
class OfContainer final : public RunningCommand {
 public:
  OfContainer(const EngineOptions& options, ContainerRecord record,
              std::unique_ptr<RunningCommand> command)
      : around_(options), record_(std::move(record)), command_(std::move(command)) {}

  CommandStreams& streams() override { return command_->streams(); }
  int ended_fd() const override { return command_->ended_fd(); }
  absl::StatusOr<CommandEnd> Finish() override {
    absl::StatusOr<CommandEnd> end = command_->Finish();
    if (!end.ok()) return OrLost(around_, record_, end.status());
    return end;
  }
  absl::Status Kill() override { return command_->Kill(); }

 private:
  const Surroundings around_;
  const ContainerRecord record_;
  const std::unique_ptr<RunningCommand> command_;
};

}  // namespace

// A change of class freezes a container for some milliseconds; the OCI runtime refuses to enter it
// then (ABORTED). The wait for that, and each further try, count as the command's own time.
absl::Status EngineCommands::Enter(
    Container& container, const ContainerRecord& record, const ExecRequest& request,
    absl::FunctionRef<absl::Status(const ExecRequest&)> enter) const {
  const SteadyTime end = std::min(request.deadline, SteadyAfter(kFrozen));
  for (int tries = 0; true; ++tries) {
    const absl::Duration hold =
        std::min({tries * kHold, kLongestHold, TimeUntil(request.deadline)});
    absl::Status status;
    {
      ExecRequest entering = request;
      // No class change comes between reading the classes to enter and entering them; a later
      // change finds the command among the entering ones.
      ReleasableReaderLock unchanged(&container.classes);
      const absl::StatusOr<int> adj = linux::ReadOomScoreAdj(options_.host, record.init);
      if (adj.ok()) entering.oom_score_adj = *adj;
      entering.entry_files = classes_->EntryFiles(record);
      entering.entered = [&unchanged, hold] {
        // Gives the OCI runtime time to look: if change follows change, it would meet each of them.
        absl::SleepFor(hold);
        unchanged.Release();
      };
      status = enter(entering);
    }
    if (!absl::IsAborted(status)) return status;
    if (request.cancellation != nullptr && request.cancellation->cancelled()) {
      return absl::CancelledError(absl::StrCat(status.message(), ", and the client has left"));
    }
    if (SteadyNow() >= request.deadline) {
      return absl::DeadlineExceededError(absl::StrCat(status.message(), ", and \"", request.argv[0],
                                                      "\" was not started within ",
                                                      absl::FormatDuration(request.timeout)));
    }
    if (SteadyNow() >= end) {
      return absl::FailedPreconditionError(
          absl::StrCat(status.message(), " by another program that doesn't thaw it"));
    }
    absl::SleepFor(std::min(kThawed, TimeUntil(end)));
  }
}

absl::StatusOr<ExecResult> EngineCommands::ExecSync(absl::string_view id,
                                                    const ExecRequest& request) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, objects_->FindContainer(id));
  const ContainerRecord record = container->Snapshot();
  PLIMSOLL_RETURN_IF_ERROR(CheckRunning(record, "exec"));
  ExecRequest limited = request;
  if (request.timeout > absl::ZeroDuration()) limited.deadline = SteadyAfter(request.timeout);
  ExecResult result;
  const auto exec = [&](const ExecRequest& entering) -> absl::Status {
    absl::StatusOr<ExecResult> done =
        options_.runtime->Exec(record.id, record.cgroup_path, entering);
    if (!done.ok()) return OrLost(Surroundings(options_), record, done.status());
    result = *std::move(done);
    return absl::OkStatus();
  };
  PLIMSOLL_RETURN_IF_ERROR(Enter(*container, record, limited, exec));
  return result;
}

absl::StatusOr<std::unique_ptr<RunningCommand>> EngineCommands::StartExec(
    absl::string_view id, const ExecRequest& request) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, objects_->FindContainer(id));
  const ContainerRecord record = container->Snapshot();
  PLIMSOLL_RETURN_IF_ERROR(CheckRunning(record, "exec"));
  std::unique_ptr<RunningCommand> started;
  const auto start = [&](const ExecRequest& entering) -> absl::Status {
    absl::StatusOr<std::unique_ptr<RunningCommand>> command =
        options_.runtime->StartExec(record.id, record.cgroup_path, entering);
    if (!command.ok()) return OrLost(Surroundings(options_), record, command.status());
    started = std::make_unique<OfContainer>(options_, record, *std::move(command));
    return absl::OkStatus();
  };
  PLIMSOLL_RETURN_IF_ERROR(Enter(*container, record, request, start));
  return started;
}

absl::StatusOr<AttachedContainer> EngineCommands::Attach(absl::string_view id, bool input) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, objects_->FindContainer(id));
  const ContainerRecord record = container->Snapshot();
  // A Created container has its streams already.
  if (!HasProcess(record)) return CheckRunning(record, "attach");
  AttachedContainer attached;
  attached.terminal = record.spec.tty;
  PLIMSOLL_ASSIGN_OR_RETURN(attached.connection, options_.runtime->Attach(record.id, input));
  return attached;
}

absl::StatusOr<UniqueFd> EngineCommands::PodSocket(absl::string_view id, int family) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, objects_->FindSandbox(id));
  const SandboxRecord record = sandbox->Snapshot();
  if (record.state != SandboxState::kReady) {
    return absl::FailedPreconditionError(
        absl::StrCat("sandbox ", record.id, " is ", StateName(record.state),
                     "; forwarding of ports needs one that is Ready"));
  }
  return linux::MakeNetworkSocket(PlaceOf(options_.run, record.id, record.spec).network_namespace,
                                  family, SOCK_STREAM);
}

absl::Status EngineCommands::ReopenLog(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, objects_->FindContainer(id));
  const ContainerRecord record = container->Snapshot();
  if (record.state != ContainerState::kRunning) {
    return absl::FailedPreconditionError(absl::StrCat("container ", record.id, " is ",
                                                      StateName(record.state),
                                                      "; only a Running one has its log open"));
  }
  // The monitor makes the same checks as it opens the log; PrepareLog gives the client the fault.
  const auto sandbox = objects_->FindSandbox(record.sandbox_id);
  const std::string directory = sandbox.ok() ? (*sandbox)->Snapshot().spec.log_directory : "";
  PLIMSOLL_RETURN_IF_ERROR(Annotate(PrepareLog(options_.host, directory, record.log_path).status(),
                                    absl::StrCat("container ", record.id)));
  return options_.runtime->ReopenLog(record.id);
}

}  // namespace plimsoll::runtime
