// The stop and the removal of containers.
#include <signal.h>

#include <algorithm>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "base/status.h"
#include "linux/process.h"
#include "linux/process_signals.h"
#include "runtime/cgroups/last_values.h"
#include "runtime/engine_impl.h"
#include "runtime/init_executes.h"
#include "runtime/objects/state_machine.h"
#include "runtime/objects/update_mark.h"

namespace plimsoll::runtime {
namespace {

// First and last interval between looks at an init that can't receive the stop signal yet.
constexpr absl::Duration kFirstStopLook = absl::Milliseconds(1);
constexpr absl::Duration kLastStopLook = absl::Milliseconds(50);

// The fate of a signal to a container's init.
enum class Reception { kTaken, kBlocked, kDropped };

// kTaken if that can't be told, or if the process is not the init of a PID namespace: the kernel
// drops unhandled signals of such inits alone. `executes`: the init executes a program; until then
// its handlers are the OCI runtime's.
Reception ReceptionOf(const FsRoot& host, const linux::ProcessId& init, int signal, bool executes) {
  if (signal == SIGKILL || signal == SIGSTOP) return Reception::kTaken;
  // First: the signals that are read after it are the program's.
  const bool is_program = !executes || linux::HasExecuted(host, init).value_or(true);
  const absl::StatusOr<linux::ProcessSignals> signals = linux::ReadSignals(host, init);
  if (!signals.ok() || !signals->is_namespace_init) return Reception::kTaken;
  if (!is_program) return Reception::kDropped;
  if (linux::Holds(signals->caught, signal)) return Reception::kTaken;
  return linux::Holds(signals->blocked, signal) ? Reception::kBlocked : Reception::kDropped;
}

// Sends the stop signal once in a container's life: some inits take a second one as "now". A new
// daemon sends it again when asked again, with a new grace period: a mark on disk would be written
// before the signal, and a kill in between would leave a container that gets none and is killed.
absl::Status SendStopSignal(const FsRoot& host, Container& container) {
  ContainerRecord record;
  {
    absl::MutexLock lock(&container.mutex);
    if (container.stop_signalled) return absl::OkStatus();
    container.stop_signalled = true;
    record = container.record;
  }
  const absl::StatusOr<UniqueFd> init = linux::OpenProcess(host, record.init);
  const absl::Status sent =
      init.ok() ? linux::SignalProcess(*init, record.stop_signal) : init.status();
  if (!sent.ok() && !absl::IsNotFound(sent)) {
    absl::MutexLock lock(&container.mutex);
    container.stop_signalled = false;  // the next stop tries again
  }
  return sent;
}

}  // namespace

bool EngineImpl::StopGently(const std::shared_ptr<Container>& container, absl::Time deadline) {
  const ContainerRecord record = container->Snapshot();
  const auto sandbox = parts_.objects.FindSandbox(record.sandbox_id);
  const bool executes = sandbox.ok() && InitExecutes(parts_.handlers.Find((*sandbox)->Snapshot()));
  bool was_blocked = false;
  for (absl::Duration pause = kFirstStopLook;; pause = std::min(2 * pause, kLastStopLook)) {
    const Reception now =
        ReceptionOf(parts_.options.host, record.init, record.stop_signal, executes);
    // An init that waits for blocked signals (sigwait(3), signalfd(2)) keeps them blocked. The C
    // library blocks all signals for the moment of a fork; one that comes then is dropped after it.
    if (now == Reception::kTaken || (now == Reception::kBlocked && was_blocked)) break;
    was_blocked = now == Reception::kBlocked;
    if (parts_.ends.exits.AwaitRecord(container, std::min(deadline, MonotonicNow() + pause)))
      return true;
    if (MonotonicNow() >= deadline) return false;
  }
  const absl::Status sent = SendStopSignal(parts_.options.host, *container);
  if (!absl::IsNotFound(sent)) {  // NOT_FOUND: it has ended
    parts_.options.events->Warn(record.sandbox_id, record.id, Annotate(sent, "its stop signal"));
  }
  return parts_.ends.exits.AwaitRecord(container, deadline);
}

absl::StatusOr<ContainerRecord> EngineImpl::WaitContainer(absl::string_view id,
                                                          absl::Time deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, parts_.objects.FindContainer(id));
  if (!parts_.ends.exits.Await(*container, deadline)) {
    return absl::DeadlineExceededError(absl::StrCat("container ", container->id, " still runs"));
  }
  return container->Snapshot();
}

absl::Status EngineImpl::StopContainer(absl::string_view id, absl::Duration grace) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, parts_.objects.FindContainer(id));
  const CallOff call_off(parts_.handler_updates.TurnsOf(*container), container->id);
  // An update that found the container running asks for its turn while it is called off: later it
  // would wait for others' turns, only to be refused.
  absl::Cleanup await_update = [&container] { absl::MutexLock lock(&container->operation); };
  ContainerState state;
  {
    // Waits for a start under way. The lock is not held longer: a second stop may have less
    // patience.
    absl::MutexLock operation(&container->operation);
    parts_.ends.exits.EndRefused(*container);
    state = container->Snapshot().state;
  }
  SeeOomScore(parts_.options.host, *container);
  SeeGroup(*parts_.options.cgroups, *container);
  if (state == ContainerState::kRunning && grace > absl::ZeroDuration()) {
    if (StopGently(container, MonotonicNow() + grace)) return absl::OkStatus();
  }
  if (parts_.ends.exits.Await(*container, absl::InfinitePast())) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(parts_.ends.exits.Kill(*container, MonotonicNow() + kKillTimeout));
  if (parts_.ends.exits.AwaitRecord(container, MonotonicNow() + kKillTimeout))
    return absl::OkStatus();
  // The container's processes are dead, but its monitor goes on. The monitor's end records the
  // exit.
  PLIMSOLL_RETURN_IF_ERROR(linux::KillProcess(parts_.options.host, container->Snapshot().monitor));
  if (parts_.ends.exits.AwaitRecord(container, MonotonicNow() + kKillTimeout))
    return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("container ", container->id, ": killed, but its monitor reports no exit"));
}

absl::Status EngineImpl::RemoveContainer(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, parts_.objects.FindContainer(id));
  const CallOff call_off(parts_.handler_updates.TurnsOf(*container), container->id);
  PLIMSOLL_RETURN_IF_ERROR(StopContainer(container->id, absl::ZeroDuration()));
  absl::MutexLock operation(&container->operation);
  if (!parts_.objects.FindContainer(container->id).ok())
    return absl::OkStatus();  // another call was quicker
  ContainerRecord record;
  {
    absl::MutexLock lock(&container->mutex);
    PLIMSOLL_RETURN_IF_ERROR(
        CheckTransition(container->id, container->record.state, ContainerState::kRemoving));
    container->record.state = ContainerState::kRemoving;
    record = container->record;
  }
  // On a full disk the removal goes on without the mark: deleted files make the room that it needs.
  // A daemon that starts in between finds the file instead, or the container ended.
  const absl::Status marked = parts_.options.store->PutContainer(record);
  if (!absl::IsResourceExhausted(marked)) PLIMSOLL_RETURN_IF_ERROR(marked);
  const std::string removal = UpdateMarkOf(RemovalMarkIdOf(record.id));
  if (!marked.ok()) parts_.options.run.ReplaceFile(removal, "", 0600).IgnoreError();
  const absl::Status unmarked = parts_.options.run.RemoveFile(UpdateMarkOf(record.id));
  if (!absl::IsNotFound(unmarked)) PLIMSOLL_RETURN_IF_ERROR(unmarked);
  PLIMSOLL_RETURN_IF_ERROR(parts_.options.runtime->Delete(record.id, record.cgroup_path));
  {
    // Releases class places now: the caller may reuse them at once. ReleaseAtExit may come late,
    // and does nothing once a removal is under way.
    absl::MutexLock lock(&container->classes);
    // The registry knows the container even if it holds no class.
    parts_.classes.Release(record);
  }
  PLIMSOLL_RETURN_IF_ERROR(parts_.options.store->RemoveContainer(record.id));
  parts_.options.run.RemoveFile(removal).IgnoreError();  // an earlier try's, too
  parts_.objects.ReleaseName(record.id);
  {
    absl::MutexLock lock(&container->mutex);
    container->layers.reset();
  }
  parts_.objects.RemoveContainer(record.id, [&] {
    parts_.options.events->Add(EventType::kContainerRemoved, record, record.spec.name);
  });
  layers_.CollectAfter(record.id);
  parts_.pictures.Show(record.sandbox_id);
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
