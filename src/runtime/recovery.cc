// Finding sandboxes and containers again after a restart of the daemon or of the machine.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random_id.h"
#include "base/status.h"
#include "linux/process.h"
#include "runtime/engine_impl.h"
#include "runtime/sandbox_place.h"

namespace plimsoll::runtime {

absl::Status EngineImpl::Recover() {
  PLIMSOLL_ASSIGN_OR_RETURN(boot_id_, linux::ReadBootId(options_.host));
  PLIMSOLL_RETURN_IF_ERROR(watcher_.Start());
  PLIMSOLL_RETURN_IF_ERROR(options_.run.MakeDirs("sandboxes", 0711));
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<SandboxRecord> sandboxes, options_.store->LoadSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<ContainerRecord> containers,
                            options_.store->LoadContainers());
  // Containers first: a sandbox can be removed only when it has none.
  for (ContainerRecord& record : containers) {
    PLIMSOLL_RETURN_IF_ERROR(RecoverContainer(std::move(record)));
  }
  for (SandboxRecord& record : sandboxes) {
    PLIMSOLL_RETURN_IF_ERROR(RecoverSandbox(std::move(record)));
  }
  PLIMSOLL_RETURN_IF_ERROR(RemoveStrays());
  return options_.images->CollectGarbage();
}

absl::Status EngineImpl::RecoverContainer(ContainerRecord record) {
  if (record.state == ContainerState::kCreating || record.state == ContainerState::kRemoving) {
    // Nobody was told of its creation, or somebody of its removal: finish by removing.
    PLIMSOLL_RETURN_IF_ERROR(options_.runtime->Delete(record.id, record.cgroup_path));
    return options_.store->RemoveContainer(record.id);
  }
  const std::string id = record.id;
  const std::string sandbox_id = record.sandbox_id;
  const bool was_live =
      record.state == ContainerState::kCreated || record.state == ContainerState::kRunning;
  const bool rebooted = record.boot_id != boot_id_;
  PLIMSOLL_RETURN_IF_ERROR(
      ReserveName(NameKey(sandbox_id, record.spec), id, absl::StrCat("container ", id)));
  absl::StatusOr<std::shared_ptr<image::LayerLease>> layers =
      options_.images->LeaseChain(record.chain_ids);
  Warn(sandbox_id, id, layers.status());
  if (rebooted) {  // no pid of another boot means anything
    record.monitor = {};
    record.init = {};
  }
  const auto container = std::make_shared<Container>(std::move(record));
  {
    absl::MutexLock lock(&container->mutex);
    if (layers.ok()) container->layers = *std::move(layers);
  }
  {
    absl::MutexLock lock(&mutex_);
    containers_.Insert(id, container);
  }
  return was_live ? WatchMonitor(container) : absl::OkStatus();
}

absl::Status EngineImpl::RecoverSandbox(SandboxRecord record) {
  const bool finish_removal =
      record.state == SandboxState::kCreating || record.state == SandboxState::kRemoving;
  if (finish_removal) {
    for (const auto& container : ContainersOf(record.id)) {
      PLIMSOLL_RETURN_IF_ERROR(RemoveContainer(container->id));
    }
    PLIMSOLL_RETURN_IF_ERROR(RemoveSandboxPlace(options_.host, options_.run, record.id));
    // A creation that was cut off may have made its group before it could be recorded.
    if (record.spec.cgroup_parent.empty()) {
      record.owned_cgroups = {absl::StrCat(options_.default_cgroup_parent, "/", record.id)};
    }
    PLIMSOLL_RETURN_IF_ERROR(RemoveOwnedCgroups(record));
    return options_.store->RemoveSandbox(record.id);
  }
  if (record.boot_id != boot_id_ && record.state == SandboxState::kReady) {
    record.state = SandboxState::kNotReady;
    PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(record));
  }
  PLIMSOLL_RETURN_IF_ERROR(
      ReserveName(NameKey(record.spec), record.id, absl::StrCat("sandbox ", record.id)));
  const std::string id = record.id;
  absl::MutexLock lock(&mutex_);
  sandboxes_.Insert(id, std::make_shared<Sandbox>(std::move(record)));
  return absl::OkStatus();
}

absl::Status EngineImpl::RemoveStrays() {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> traces, options_.runtime->ListTraces());
  for (const std::string& id : traces) {
    if (FindContainer(id).ok()) continue;
    PLIMSOLL_RETURN_IF_ERROR(options_.runtime->Delete(id, ""));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> places, options_.run.List("sandboxes"));
  for (const std::string& id : places) {
    if (FindSandbox(id).ok() || !IsId(id)) continue;
    PLIMSOLL_RETURN_IF_ERROR(RemoveSandboxPlace(options_.host, options_.run, id));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
