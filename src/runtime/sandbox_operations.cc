#include <iterator>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/random_id.h"
#include "base/status.h"
#include "runtime/engine_impl.h"
#include "runtime/sandbox_place.h"
#include "runtime/state_machine.h"

namespace plimsoll::runtime {

absl::Status EngineImpl::PlacePodCgroup(SandboxRecord* record) {
  const std::string& parent = record->spec.cgroup_parent;
  if (parent.empty()) {
    record->cgroup_path = absl::StrCat(options_.default_cgroup_parent, "/", record->id);
  } else {
    PLIMSOLL_ASSIGN_OR_RETURN(record->cgroup_path, linux::ExpandCgroupParent(parent));
    if (options_.cgroups->Exists(record->cgroup_path)) return absl::OkStatus();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(record->owned_cgroups, options_.cgroups->Create(record->cgroup_path));
  // Our own group is kept for the next pod: only what is below it belongs to this one.
  std::erase(record->owned_cgroups, options_.default_cgroup_parent);
  if (record->spec.resources == linux::CgroupSettings()) return absl::OkStatus();
  const absl::Status applied = options_.cgroups->Apply(record->cgroup_path, record->spec.resources);
  if (!applied.ok()) Warn(record->id, "", RemoveOwnedCgroups(*record));
  return applied;
}

absl::Status EngineImpl::RemoveOwnedCgroups(const SandboxRecord& record) {
  absl::Status status;
  for (auto it = record.owned_cgroups.rbegin(); it != record.owned_cgroups.rend(); ++it) {
    status = FirstError(status, options_.cgroups->Remove(*it));
  }
  return status;
}

absl::StatusOr<std::string> EngineImpl::RunSandbox(const SandboxSpec& spec,
                                                   std::string client_config) {
  SandboxRecord record;
  record.id = RandomId();
  record.created_unix_nanos = options_.clock->NowUnixNanos();
  record.boot_id = boot_id_;
  record.spec = spec;
  record.client_config = std::move(client_config);

  const std::string key = NameKey(spec);
  PLIMSOLL_RETURN_IF_ERROR(ReserveName(
      key, record.id,
      absl::StrCat("pod ", spec.pod_namespace, "/", spec.name, " (attempt ", spec.attempt, ")")));
  absl::Cleanup release_name = [&] { ReleaseName(key); };

  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(record));
  absl::Cleanup remove_row = [&] { Warn(record.id, "", options_.store->RemoveSandbox(record.id)); };
  PLIMSOLL_RETURN_IF_ERROR(PlacePodCgroup(&record));
  absl::Cleanup remove_cgroups = [&] { Warn(record.id, "", RemoveOwnedCgroups(record)); };
  PLIMSOLL_RETURN_IF_ERROR(MakeSandboxPlace(options_.host, options_.run, record.id, spec));
  absl::Cleanup remove_place = [&] {
    Warn(record.id, "", RemoveSandboxPlace(options_.host, options_.run, record.id));
  };

  record.state = SandboxState::kReady;
  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(record));
  std::move(remove_place).Cancel();
  std::move(remove_cgroups).Cancel();
  std::move(remove_row).Cancel();
  std::move(release_name).Cancel();
  std::string id = record.id;
  {
    absl::MutexLock lock(&mutex_);
    sandboxes_.Insert(id, std::make_shared<Sandbox>(std::move(record)));
  }
  options_.events->Add(EventType::kSandboxStarted, id, "",
                       absl::StrCat(spec.pod_namespace, "/", spec.name));
  return id;
}

absl::Status EngineImpl::StopSandboxLocked(const std::shared_ptr<Sandbox>& sandbox) {
  for (const auto& container : ContainersOf(sandbox->id)) {
    PLIMSOLL_RETURN_IF_ERROR(StopContainer(container->id, absl::ZeroDuration()));
  }
  PLIMSOLL_RETURN_IF_ERROR(ReleaseSandboxPlace(options_.host, options_.run, sandbox->id));
  absl::MutexLock lock(&sandbox->mutex);
  if (sandbox->record.state == SandboxState::kNotReady) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(
      CheckTransition(sandbox->id, sandbox->record.state, SandboxState::kNotReady));
  sandbox->record.state = SandboxState::kNotReady;
  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(sandbox->record));
  options_.events->Add(EventType::kSandboxStopped, sandbox->id, "", "");
  return absl::OkStatus();
}

absl::Status EngineImpl::StopSandbox(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, FindSandbox(id));
  absl::MutexLock operation(&sandbox->operation);
  if (sandbox->Snapshot().state == SandboxState::kRemoving) return absl::OkStatus();
  return StopSandboxLocked(sandbox);
}

absl::Status EngineImpl::RemoveSandbox(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, FindSandbox(id));
  absl::MutexLock operation(&sandbox->operation);
  if (!FindSandbox(sandbox->id).ok()) return absl::OkStatus();  // another call was quicker
  if (sandbox->Snapshot().state != SandboxState::kRemoving) {
    PLIMSOLL_RETURN_IF_ERROR(StopSandboxLocked(sandbox));
  }
  for (const auto& container : ContainersOf(sandbox->id)) {
    PLIMSOLL_RETURN_IF_ERROR(RemoveContainer(container->id));
  }
  SandboxRecord record;
  {
    absl::MutexLock lock(&sandbox->mutex);
    PLIMSOLL_RETURN_IF_ERROR(
        CheckTransition(sandbox->id, sandbox->record.state, SandboxState::kRemoving));
    sandbox->record.state = SandboxState::kRemoving;
    record = sandbox->record;
  }
  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(record));
  PLIMSOLL_RETURN_IF_ERROR(RemoveSandboxPlace(options_.host, options_.run, record.id));
  PLIMSOLL_RETURN_IF_ERROR(RemoveOwnedCgroups(record));
  PLIMSOLL_RETURN_IF_ERROR(options_.store->RemoveSandbox(record.id));
  ReleaseName(NameKey(record.spec));
  {
    absl::MutexLock lock(&mutex_);
    sandboxes_.Erase(record.id);
  }
  options_.events->Add(EventType::kSandboxRemoved, record.id, "", "");
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
