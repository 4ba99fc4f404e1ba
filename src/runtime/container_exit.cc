#include <algorithm>
#include <csignal>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/process.h"
#include "runtime/engine_impl.h"
#include "runtime/state_machine.h"

namespace plimsoll::runtime {
namespace {

// What is recorded when nobody saw the exit.
constexpr int kUnknownExitCode = 255;

}  // namespace

absl::Status EngineImpl::WatchMonitor(const std::shared_ptr<Container>& container) {
  absl::StatusOr<UniqueFd> monitor =
      linux::OpenProcess(options_.host, container->Snapshot().monitor);
  if (absl::IsNotFound(monitor.status())) {
    RecordExit(container);
    return absl::OkStatus();
  }
  PLIMSOLL_RETURN_IF_ERROR(monitor.status());
  return watcher_.Watch(*std::move(monitor), [this, container] { RecordExit(container); });
}

void EngineImpl::SetExited(ContainerRecord* record, const ExitRecord& exit, bool oom_killed) const {
  record->state = ContainerState::kExited;
  record->exit_code = exit.code;
  // The monitor's time is a file's, of the kernel's coarse clock: up to a tick behind.
  record->finished_unix_nanos = std::max(exit.finished_unix_nanos, record->started_unix_nanos);
  record->oom_killed = oom_killed;
  if (oom_killed && exit.code != 0) {
    record->reason = "OOMKilled";
  } else {
    record->reason = exit.code == 0 ? "Completed" : "Error";
  }
}

void EngineImpl::RecordExit(const std::shared_ptr<Container>& container) {
  const ContainerRecord before = container->Snapshot();
  const absl::StatusOr<std::optional<ExitRecord>> read = options_.runtime->ReadExit(before.id);
  const bool seen = read.ok() && read->has_value();
  // Without a monitor nobody keeps its log or its exit: what is left of it ends here.
  if (!seen) Warn(before.sandbox_id, before.id, KillContainer(*container));

  const absl::StatusOr<uint64_t> oom_kills = options_.cgroups->OomKills(before.cgroup_path);
  const bool oom = oom_kills.ok() && *oom_kills > 0;
  const absl::StatusOr<linux::CgroupSettings> last = options_.cgroups->Read(before.cgroup_path);
  KillContainer(*container).IgnoreError();

  absl::Status saved;
  {
    // Saved before the lock goes: nobody learns of an exit that a crash could undo.
    absl::MutexLock lock(&container->mutex);
    ContainerRecord& record = container->record;
    if (last.ok()) record.last_resources = *last;
    if (MayFollow(record.state, ContainerState::kExited)) {
      SetExited(&record,
                seen ? **read : ExitRecord{kUnknownExitCode, options_.clock->NowUnixNanos()}, oom);
      if (!seen) {
        record.reason = "Unknown";
        record.message = before.boot_id != boot_id_ ? "the machine was restarted while it ran"
                         : read.ok() ? "its monitor ended without a record of the exit"
                                     : std::string(read.status().message());
      }
    }
    saved = options_.store->PutContainer(record);
  }
  Warn(before.sandbox_id, before.id, saved);
  // After the exit is on record, since with the group goes the count of OOM kills; but not left to
  // Delete, since with it goes the kernel memory that it holds.
  options_.cgroups->Remove(before.cgroup_path).IgnoreError();  // Delete will try again
  const ContainerRecord after = container->Snapshot();
  if (oom) {
    options_.events->Add(EventType::kContainerOom, after.sandbox_id, after.id,
                         "the kernel killed a process for exceeding the memory limit");
  }
  options_.events->Add(EventType::kContainerStopped, after.sandbox_id, after.id,
                       absl::StrCat(after.reason, ", exit code ", after.exit_code));
}

absl::StatusOr<ContainerRecord> EngineImpl::WaitContainer(absl::string_view id,
                                                          absl::Time deadline) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, FindContainer(id));
  if (!AwaitExit(*container, deadline)) {
    return absl::DeadlineExceededError(absl::StrCat("container ", container->id, " still runs"));
  }
  return container->Snapshot();
}

}  // namespace plimsoll::runtime
