#include "runtime/engine.h"

#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "runtime/engine_impl.h"

namespace plimsoll::runtime {
namespace {

// The newest first, by creation and attempt: kubelet takes the first of a name that it finds in a
// list for the latest attempt.
template <typename Object>
void SortByAge(std::vector<std::shared_ptr<Object>>* all) {
  struct Aged {
    int64_t created;
    uint32_t attempt;
    std::shared_ptr<Object> object;
  };
  std::vector<Aged> aged;
  aged.reserve(all->size());
  for (std::shared_ptr<Object>& each : *all) {
    absl::MutexLock lock(&each->mutex);
    aged.push_back({each->record.created_unix_nanos, each->record.spec.attempt, each});
  }
  absl::c_stable_sort(aged, [](const Aged& a, const Aged& b) {
    return std::tie(a.created, a.attempt) > std::tie(b.created, b.attempt);
  });
  for (size_t i = 0; i < aged.size(); ++i) (*all)[i] = std::move(aged[i].object);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> Engine::Create(EngineOptions options) {
  auto engine = std::make_unique<EngineImpl>(std::move(options));
  PLIMSOLL_RETURN_IF_ERROR(engine->Recover());
  return engine;
}

std::string NameKey(const SandboxSpec& spec) {
  return absl::StrCat("pod/", spec.pod_namespace, "/", spec.name, "/", spec.uid, "/", spec.attempt);
}

std::string NameKey(const std::string& sandbox_id, const ContainerSpec& spec) {
  return absl::StrCat("container/", sandbox_id, "/", spec.name, "/", spec.attempt);
}

absl::StatusOr<std::shared_ptr<Sandbox>> EngineImpl::FindSandbox(absl::string_view id) const {
  absl::MutexLock lock(&mutex_);
  return sandboxes_.Find(id);
}

absl::StatusOr<std::shared_ptr<Container>> EngineImpl::FindContainer(absl::string_view id) const {
  absl::MutexLock lock(&mutex_);
  return containers_.Find(id);
}

std::vector<std::shared_ptr<Container>> EngineImpl::ContainersOf(
    const std::string& sandbox_id) const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Container>> all = containers_.All();
  std::erase_if(all, [&](const auto& container) { return container->sandbox_id != sandbox_id; });
  return all;
}

absl::Status EngineImpl::ReserveName(const std::string& key, const std::string& id,
                                     absl::string_view what) {
  absl::MutexLock lock(&mutex_);
  const auto [it, inserted] = names_.try_emplace(key, id);
  if (inserted) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(what, " is there already, with id ", it->second,
                                               "; remove it first, or use another attempt number"));
}

void EngineImpl::ReleaseName(const std::string& id) {
  absl::MutexLock lock(&mutex_);
  absl::erase_if(names_, [&](const auto& name) { return name.second == id; });
}

absl::StatusOr<SandboxRecord> EngineImpl::GetSandbox(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, FindSandbox(id));
  return sandbox->Snapshot();
}

std::vector<SandboxRecord> EngineImpl::ListSandboxes() const {
  std::vector<std::shared_ptr<Sandbox>> all;
  {
    absl::MutexLock lock(&mutex_);
    all = sandboxes_.All();
  }
  SortByAge(&all);
  std::vector<SandboxRecord> records;
  records.reserve(all.size());
  for (const auto& sandbox : all) records.push_back(sandbox->Snapshot());
  return records;
}

void EngineImpl::VisitSandboxes(absl::FunctionRef<void(const SandboxRecord& record)> visit) const {
  std::vector<std::shared_ptr<Sandbox>> all;
  {
    absl::MutexLock lock(&mutex_);
    all = sandboxes_.All();
  }
  SortByAge(&all);
  for (const auto& sandbox : all) {
    absl::MutexLock lock(&sandbox->mutex);
    visit(sandbox->record);
  }
}

absl::StatusOr<ContainerRecord> EngineImpl::GetContainer(absl::string_view id) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, FindContainer(id));
  return container->Snapshot();
}

std::vector<ContainerRecord> EngineImpl::ListContainers() const {
  std::vector<std::shared_ptr<Container>> all;
  {
    absl::MutexLock lock(&mutex_);
    all = containers_.All();
  }
  SortByAge(&all);
  std::vector<ContainerRecord> records;
  records.reserve(all.size());
  for (const auto& container : all) records.push_back(container->Snapshot());
  return records;
}

void EngineImpl::VisitContainers(
    absl::FunctionRef<void(const ContainerRecord& record)> visit) const {
  std::vector<std::shared_ptr<Container>> all;
  {
    absl::MutexLock lock(&mutex_);
    all = containers_.All();
  }
  SortByAge(&all);
  for (const auto& container : all) {
    absl::MutexLock lock(&container->mutex);
    visit(container->record);
  }
}

std::vector<ContainerRecord> EngineImpl::ListContainersOf(const std::string& sandbox_id) const {
  std::vector<std::shared_ptr<Container>> all = ContainersOf(sandbox_id);
  SortByAge(&all);
  std::vector<ContainerRecord> records;
  records.reserve(all.size());
  for (const auto& container : all) records.push_back(container->Snapshot());
  return records;
}

absl::Status EngineImpl::Save(const Container& container) {
  // The lock is held over the write, so that rows arrive in the order of the states.
  absl::MutexLock lock(&container.mutex);
  return options_.store->PutContainer(container.record);
}

void EngineImpl::Warn(const std::string& sandbox_id, const std::string& container_id,
                      const absl::Status& status) {
  if (status.ok()) return;
  options_.events->Add(EventType::kWarning, sandbox_id, container_id,
                       std::string(status.message()));
}

}  // namespace plimsoll::runtime
