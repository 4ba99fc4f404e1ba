#include <algorithm>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "linux/process.h"
#include "runtime/engine_impl.h"
#include "runtime/group_settings.h"
#include "runtime/last_values.h"
#include "runtime/state_machine.h"

namespace plimsoll::runtime {
namespace {

// What is recorded when nobody saw the exit.
constexpr int kUnknownExitCode = 255;
// Of what was never executed, as kubelet knows it of other runtimes.
constexpr int kStartErrorCode = 128;
// What SIGKILL ends, it ends within this, but for what hangs in the kernel.
constexpr absl::Duration kBriefly = absl::Milliseconds(10);

}  // namespace

absl::Status EngineImpl::WatchMonitor(const std::shared_ptr<Container>& container,
                                      const linux::ProcessId& id) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd monitor, linux::OpenProcess(options_.host, id));
  return watcher_.Watch(std::move(monitor), [this, container] { RecordExit(container); });
}

void EngineImpl::SetExited(ContainerRecord* record, const ExitRecord& exit, bool oom_killed) const {
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

void EngineImpl::RecordExit(const std::shared_ptr<Container>& container) {
  const ContainerRecord before = container->Snapshot();
  const std::shared_ptr<void> release = classes_.AnnounceRelease(before.classes);
  const absl::StatusOr<std::optional<ExitRecord>> read = options_.runtime->ReadExit(before.id);
  const bool seen = read.ok() && read->has_value();
  // Before the group goes, and with it the count.
  const absl::StatusOr<uint64_t> oom_kills = options_.cgroups->OomKills(before.cgroup_path);
  const bool oom = oom_kills.ok() && *oom_kills > 0;
  const absl::StatusOr<linux::CgroupSettings> last =
      ReadGroup(*options_.cgroups, before.cgroup_path, before.spec.resources);
  SeeOomScore(options_.host, *container);  // the monitor may have ended before its init
  // Without a monitor nobody keeps its log or its exit: what is left of it ends here. Not waited
  // for long, since other exits wait for this one.
  if (!seen) KillContainer(*container, MonotonicNow() + kBriefly).IgnoreError();
  {
    // Saved before the lock goes: nobody learns of an exit that a crash could undo. The event too:
    // once the lock is gone, the container may be removed, and told to be.
    absl::MutexLock lock(&container->mutex);
    ContainerRecord& record = container->record;
    // Refused: a start that failed has recorded it, and it may be removed by now.
    if (MayFollow(record.state, ContainerState::kExited)) {
      if (last.ok()) record.last_resources.cgroup = *last;
      ExitRecord exit{kUnknownExitCode, options_.clock->NowUnixNanos()};
      if (seen) exit = **read;
      if (exit.start_error.has_value()) {
        exit.start_error =
            absl::StrCat("container \"", record.spec.name, "\": ", *exit.start_error);
        // Nobody has been told that it was started, unless that took unusually long.
        if (container->starting) record.started_unix_nanos = 0;
      }
      SetExited(&record, exit, oom);
      if (!seen) {
        record.reason = "Unknown";
        record.message = before.boot_id != boot_id_ ? "the machine was restarted while it ran"
                         : read.ok() ? "its monitor ended without a record of the exit"
                                     : std::string(read.status().message());
      }
      SaveExit(*container);
    }
  }
  ClearGroup(container);
  classes_.ReleaseAtExit(container, release);
}

void EngineImpl::SaveExit(const Container& container) {
  const ContainerRecord& record = container.record;
  options_.events->Warn(record.sandbox_id, record.id, options_.store->PutContainer(record));
  if (!container.starting) TellExit(record);
}

void EngineImpl::TellExit(const ContainerRecord& record) {
  if (record.oom_killed) {
    options_.events->Add(EventType::kContainerOom, record.sandbox_id, record.id,
                         absl::StrCat(record.spec.name, ": the kernel killed a process for ",
                                      "exceeding the memory limit"));
  }
  options_.events->Add(
      EventType::kContainerStopped, record,
      absl::StrCat(record.spec.name, ": ", record.reason, ", exit code ", record.exit_code));
}

// After the exit is on record, since with the group goes the count of OOM kills; but not left to
// Delete, since with it goes the kernel memory that it holds. What fails here, Delete tries again.
void EngineImpl::ClearGroup(const std::shared_ptr<Container>& container) {
  if (KillContainer(*container, MonotonicNow() + kBriefly).ok()) {
    options_.cgroups->Remove(container->Snapshot().cgroup_path).IgnoreError();
    return;
  }
  const bool taken = patient_.TrySchedule([this, container] {
    if (ending_) return;
    const ContainerRecord record = container->Snapshot();
    const absl::Status killed = KillContainer(*container, MonotonicNow() + kKillTimeout);
    options_.events->Warn(record.sandbox_id, record.id, killed);
    if (killed.ok()) options_.cgroups->Remove(record.cgroup_path).IgnoreError();
  });
  if (!taken) {
    options_.events->Warn(
        container->sandbox_id, container->id,
        absl::ResourceExhaustedError("no thread to end what is left of it; removing it does"));
  }
}

absl::StatusOr<ContainerRecord> EngineImpl::WaitContainer(absl::string_view id,
                                                          absl::Time deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, objects_.FindContainer(id));
  if (!AwaitExit(*container, deadline)) {
    return absl::DeadlineExceededError(absl::StrCat("container ", container->id, " still runs"));
  }
  return container->Snapshot();
}

}  // namespace plimsoll::runtime
