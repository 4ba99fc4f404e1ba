#include "runtime/container_exits.h"

#include <algorithm>
#include <csignal>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/programs/kill_timeout.h"
#include "base/status.h"
#include "runtime/cgroups/group_settings.h"
#include "runtime/cgroups/last_values.h"
#include "runtime/objects/state_machine.h"

namespace plimsoll::runtime {
namespace {

// Recorded if nobody saw the exit.
constexpr int kUnknownExitCode = 255;
// The exit code of a program that was never executed, as other runtimes report it to kubelet.
constexpr int kStartErrorCode = 128;
// SIGKILL ends a process within this time, unless the process hangs in the kernel.
constexpr absl::Duration kBriefly = absl::Milliseconds(10);
// The interval at which a wait for an exit looks for the monitor.
constexpr absl::Duration kLookAgain = absl::Milliseconds(200);

void SetExited(ContainerRecord* record, const ExitRecord& exit, bool oom_killed) {
  record->state = ContainerState::kExited;
  record->exit_code = exit.code;
  // The clock may have been set back meanwhile.
  record->finished_unix_nanos = std::max(exit.finished_unix_nanos, record->started_unix_nanos);
  record->oom_killed = oom_killed;
  if (exit.start_error.has_value()) {
    record->exit_code = kStartErrorCode;
    record->reason = kStartError;
    record->message = *exit.start_error;
    return;
  }
  if (oom_killed && exit.code != 0) {
    record->reason = "OOMKilled";
  } else {
    record->reason = exit.code == 0 ? "Completed" : "Error";
  }
}

// Traces of a container that has ended.
struct FoundExit {
  std::optional<ExitRecord> seen;             // by its monitor
  std::string why_unseen;                     // if it is not seen
  bool oom_killed = false;                    // at least one process
  std::optional<linux::CgroupSettings> last;  // settings of its group
};

// Called while the group exists: the count of OOM kills goes with it. The kernel counts them in the
// victim's own group, also when a limit further up was hit.
FoundExit LookAt(const EngineOptions& options, const ContainerRecord& record,
                 const std::string& boot_id) {
  FoundExit found;
  const auto read = options.runtime->ReadExit(record.id);
  if (read.ok()) found.seen = *read;
  found.why_unseen = record.boot_id != boot_id ? "the machine was restarted while it ran"
                     : read.ok()               ? "its monitor ended without a record of the exit"
                                               : std::string(read.status().message());
  const absl::StatusOr<uint64_t> oom_kills = options.cgroups->OomKills(record.cgroup_path);
  found.oom_killed = oom_kills.ok() && *oom_kills > 0;
  auto last = ReadGroup(*options.cgroups, record.cgroup_path, record.spec.resources);
  if (last.ok()) found.last = *std::move(last);
  return found;
}

void SetFound(const FoundExit& found, bool is_starting, int64_t now, ContainerRecord* record) {
  if (found.last.has_value()) record->last_resources.cgroup = *found.last;
  ExitRecord exit = found.seen.value_or(ExitRecord{kUnknownExitCode, now});
  if (exit.start_error.has_value()) {
    exit.start_error = absl::StrCat("container \"", record->spec.name, "\": ", *exit.start_error);
    // While it is starting, nobody has been told of a start.
    if (is_starting) record->started_unix_nanos = 0;
  }
  SetExited(record, exit, found.oom_killed);
  if (found.seen.has_value()) return;
  record->reason = "Unknown";
  record->message = found.why_unseen;
}

}  // namespace

absl::Status ContainerExits::Watch(const std::shared_ptr<Container>& container,
                                   const linux::ProcessId& monitor) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd process, linux::OpenProcess(options_.host, monitor));
  return watcher_->Watch(std::move(process), [this, container] { Record(container); });
}

absl::Status ContainerExits::WatchOrRecord(const std::shared_ptr<Container>& container) {
  SeeOomScore(options_.host, *container);
  SeeGroup(*options_.cgroups, *container);
  const absl::Status watched = Watch(container, container->Snapshot().monitor);
  if (!absl::IsNotFound(watched)) return watched;  // after an error, a stop looks for its end
  Record(container);
  return absl::OkStatus();
}

void ContainerExits::Record(const std::shared_ptr<Container>& container) {
  const ContainerRecord before = container->Snapshot();
  const std::shared_ptr<void> release = classes_->AnnounceRelease(before.classes);
  const FoundExit found = LookAt(options_, before, boot_id_);
  SeeOomScore(options_.host, *container);  // the monitor may have ended before its init
  // Without a monitor nobody keeps the log or the exit, so the rest of the container ends here. The
  // wait is brief, since other exits wait for this one.
  if (!found.seen.has_value()) Kill(*container, MonotonicNow() + kBriefly).IgnoreError();
  {
    absl::MutexLock lock(&container->mutex);
    // False if a failed start has recorded the exit; the container may even be removed by now.
    if (MayFollow(container->record.state, ContainerState::kExited)) {
      SetFound(found, container->starting, options_.clock->NowUnixNanos(), &container->record);
      Save(*container);
    }
  }
  ClearGroup(container);
  classes_->ReleaseAtExit(container, release);
}

void ContainerExits::EndRefused(Container& container) const {
  absl::MutexLock lock(&container.mutex);
  ContainerRecord& record = container.record;
  if (!IsRefused(record)) return;
  record.last_resources.cgroup = record.spec.resources;  // shown after the exit too
  ExitRecord exit{.code = 0, .finished_unix_nanos = options_.clock->NowUnixNanos()};
  exit.start_error = record.message;
  SetExited(&record, exit, false);
  Save(container);
}

void ContainerExits::RecordFailedStart(Container& container, const absl::Status& failure) const {
  absl::MutexLock lock(&container.mutex);
  ContainerRecord& record = container.record;
  // False: the monitor's end was recorded first.
  const bool is_first = record.state == ContainerState::kRunning;
  record.started_unix_nanos = 0;
  if (is_first) SetExited(&record, {kStartErrorCode, options_.clock->NowUnixNanos()}, false);
  record.exit_code = kStartErrorCode;
  record.oom_killed = false;
  record.reason = kStartError;
  record.message = std::string(failure.message());
  container.starting = false;
  Save(container);
}

void ContainerExits::Save(const Container& container) const {
  const ContainerRecord& record = container.record;
  options_.events->Warn(record.sandbox_id, record.id, options_.store->PutContainer(record));
  if (!container.starting) Tell(record);
}

void ContainerExits::Tell(const ContainerRecord& record) const {
  if (record.oom_killed) {
    options_.events->Add(EventType::kContainerOom, record.sandbox_id, record.id,
                         absl::StrCat(record.spec.name, ": the kernel killed a process for ",
                                      "exceeding the memory limit"));
  }
  options_.events->Add(
      EventType::kContainerStopped, record,
      absl::StrCat(record.spec.name, ": ", record.reason, ", exit code ", record.exit_code));
}

// Called once the exit is on record, since the count of OOM kills goes with the group. Does not
// wait for Delete, since a group holds kernel memory. Delete retries after an error.
void ContainerExits::ClearGroup(const std::shared_ptr<Container>& container) {
  if (Kill(*container, MonotonicNow() + kBriefly).ok()) {
    options_.cgroups->Remove(container->Snapshot().cgroup_path).IgnoreError();
    return;
  }
  const bool taken = clearers_.TrySchedule([this, container] {
    if (ending_) return;
    const ContainerRecord record = container->Snapshot();
    const absl::Status killed = Kill(*container, MonotonicNow() + kKillTimeout);
    options_.events->Warn(record.sandbox_id, record.id, killed);
    if (killed.ok()) options_.cgroups->Remove(record.cgroup_path).IgnoreError();
  });
  if (!taken) {
    options_.events->Warn(container->sandbox_id, container->id,
                          absl::ResourceExhaustedError(
                              "no thread to end its remaining processes; its removal ends them"));
  }
}

absl::Status ContainerExits::Kill(const Container& container, absl::Time deadline) const {
  const ContainerRecord record = container.Snapshot();
  // Also kills the init by itself: it may have been moved out of its group.
  const absl::Status init = linux::KillProcess(options_.host, record.init);
  return FirstError(options_.cgroups->KillAll(record.cgroup_path, deadline), init);
}

bool ContainerExits::Await(const Container& container, absl::Time deadline) const {
  absl::MutexLock lock(&container.mutex);
  const auto exited = [&container]() ABSL_SHARED_LOCKS_REQUIRED(container.mutex) {
    return !IsLive(container.record.state);
  };
  return container.mutex.AwaitWithDeadline(absl::Condition(&exited), deadline);
}

// Waits for the monitor's end: a wait for the record alone follows the wall clock, which may jump.
bool ContainerExits::AwaitRecord(const std::shared_ptr<Container>& container, absl::Time deadline) {
  while (!Await(*container, absl::InfinitePast())) {
    const absl::Time look_again = std::min(deadline, MonotonicNow() + kLookAgain);
    const ContainerRecord record = container->Snapshot();
    const absl::StatusOr<UniqueFd> monitor = linux::OpenProcess(options_.host, record.monitor);
    if (monitor.ok() && !linux::AwaitExit(*monitor, look_again)) {
      // A monitor that somebody has stopped records nothing until it continues.
      if (!linux::IsRunning(options_.host, record.init).value_or(true)) {
        linux::SignalProcess(*monitor, SIGCONT).IgnoreError();
      }
    } else if (!Await(*container, absl::Now() + (look_again - MonotonicNow())) &&
               absl::IsNotFound(monitor.status())) {
      Record(container);  // its end went unnoticed: it is not watched
    }
    if (MonotonicNow() >= deadline) return Await(*container, absl::InfinitePast());
  }
  return true;
}

}  // namespace plimsoll::runtime
