// The start of containers, and the report of a failed one.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "base/status.h"
#include "linux/process_signals.h"
#include "runtime/engine_impl.h"
#include "runtime/init_executes.h"
#include "runtime/objects/state_machine.h"
#include "runtime/store/unwritable.h"

namespace plimsoll::runtime {
namespace {

// A released init executes its program within a millisecond, on a busy machine later.
constexpr absl::Duration kFirstStartLook = absl::Microseconds(50);
constexpr absl::Duration kLastStartLook = absl::Milliseconds(5);
// Limit of the time from an init's end to the record of its exit, usually some milliseconds.
constexpr absl::Duration kRecordTakes = absl::Seconds(5);

// The record as its start left it, without a later exit.
ContainerRecord AtItsStart(ContainerRecord record) {
  if (record.state != ContainerState::kExited) return record;
  record.state = ContainerState::kRunning;
  record.finished_unix_nanos = 0;
  record.exit_code = 0;
  record.oom_killed = false;
  record.reason.clear();
  record.message.clear();
  return record;
}

}  // namespace

absl::Status EngineImpl::AwaitProgram(const std::shared_ptr<Container>& container) {
  const linux::ProcessId init = container->Snapshot().init;
  const absl::Time deadline = MonotonicNow() + parts_.options.program_wait;
  for (absl::Duration pause = kFirstStartLook;; pause = std::min(2 * pause, kLastStartLook)) {
    const absl::StatusOr<bool> executed = linux::HasExecuted(parts_.options.host, init);
    if (executed.ok() ? *executed : !absl::IsNotFound(executed.status())) return absl::OkStatus();
    if (!executed.ok()) break;  // it has ended; its exit says whether the program ran
    if (MonotonicNow() >= deadline) return absl::OkStatus();
    absl::SleepFor(pause);
  }
  parts_.ends.exits.AwaitRecord(container, MonotonicNow() + kRecordTakes);
  const ContainerRecord record = container->Snapshot();
  if (record.state != ContainerState::kExited || record.reason != kStartError) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(record.message);
}

absl::Status EngineImpl::FailStart(Container& container, const absl::Status& failure) {
  parts_.ends.exits.RecordFailedStart(container, failure);
  parts_.options.events->Warn(container.sandbox_id, container.id,
                              parts_.ends.exits.Kill(container, MonotonicNow() + kKillTimeout));
  return failure;
}

absl::Status EngineImpl::StartContainer(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, parts_.objects.FindContainer(id));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, parts_.objects.FindSandbox(container->sandbox_id));
  absl::ReaderMutexLock sandbox_operation(&sandbox->operation);
  absl::MutexLock start(&container->start);
  PLIMSOLL_RETURN_IF_ERROR(parts_.plugin_hooks.StartContainer(*container));
  absl::MutexLock operation(&container->operation);
  if (const ContainerRecord record = container->Snapshot(); IsRefused(record)) {
    parts_.ends.exits.EndRefused(*container);
    return absl::FailedPreconditionError(record.message);
  }
  PLIMSOLL_RETURN_IF_ERROR(parts_.classes.Retake(*container));
  {
    // Running from here on, so that an immediate exit finds the state it needs.
    absl::MutexLock lock(&container->mutex);
    ContainerRecord& record = container->record;
    PLIMSOLL_RETURN_IF_ERROR(
        CheckTransition(container->id, record.state, ContainerState::kRunning));
    record.state = ContainerState::kRunning;
    record.started_unix_nanos = parts_.options.clock->NowUnixNanos();
    container->starting = true;
  }
  StartPhase phase(parts_.options.observe_phase);
  absl::Status started = parts_.options.runtime->Start(container->id);
  if (started.ok() && InitExecutes(parts_.handlers.Find(sandbox->Snapshot()))) {
    started = AwaitProgram(container);
  }
  if (!started.ok()) return FailStart(*container, started);
  phase.Done("container_start");
  {
    absl::MutexLock lock(&container->mutex);
    container->starting = false;
    parts_.options.events->Add(EventType::kContainerStarted, AtItsStart(container->record),
                               container->record.spec.name);
    if (container->record.state == ContainerState::kExited)
      parts_.ends.exits.Tell(container->record);
  }
  const absl::Status saved = SaveRow(*parts_.options.store, *container);
  if (!IsUnwritable(saved)) return saved;
  // The container runs, even if a full disk can't record it: the next daemon finds that out.
  parts_.options.events->Warn(container->sandbox_id, container->id, saved);
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
