#include "runtime/objects/objects.h"

#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::runtime {
namespace {

// The newest first.
template <typename Object>
std::vector<std::shared_ptr<Object>> ByAge(std::vector<std::shared_ptr<Object>> all) {
  struct Aged {
    int64_t created;
    uint32_t attempt;
    std::shared_ptr<Object> object;
  };
  std::vector<Aged> aged;
  aged.reserve(all.size());
  for (std::shared_ptr<Object>& each : all) {
    absl::MutexLock lock(&each->mutex);
    aged.push_back({each->record.created_unix_nanos, each->record.spec.attempt, each});
  }
  absl::c_stable_sort(aged, [](const Aged& a, const Aged& b) {
    return std::tie(a.created, a.attempt) > std::tie(b.created, b.attempt);
  });
  for (size_t i = 0; i < aged.size(); ++i) all[i] = std::move(aged[i].object);
  return all;
}

template <typename Record, typename Object>
std::vector<Record> RecordsOf(const std::vector<std::shared_ptr<Object>>& objects) {
  std::vector<Record> records;
  records.reserve(objects.size());
  for (const auto& object : objects) records.push_back(object->Snapshot());
  return records;
}

}  // namespace

std::string NameKey(const SandboxSpec& spec) {
  return absl::StrCat("pod/", spec.pod_namespace, "/", spec.name, "/", spec.uid, "/", spec.attempt);
}

std::string NameKey(const std::string& sandbox_id, const ContainerSpec& spec) {
  return absl::StrCat("container/", sandbox_id, "/", spec.name, "/", spec.attempt);
}

absl::StatusOr<std::shared_ptr<Sandbox>> Objects::FindSandbox(absl::string_view id) const {
  absl::MutexLock lock(&mutex_);
  return sandboxes_.Find(id);
}

absl::StatusOr<std::shared_ptr<Container>> Objects::FindContainer(absl::string_view id) const {
  absl::MutexLock lock(&mutex_);
  return containers_.Find(id);
}

std::vector<std::shared_ptr<Sandbox>> Objects::Sandboxes() const {
  absl::MutexLock lock(&mutex_);
  return sandboxes_.All();
}

std::vector<std::shared_ptr<Container>> Objects::Containers() const {
  absl::MutexLock lock(&mutex_);
  return containers_.All();
}

std::vector<std::shared_ptr<Container>> Objects::ContainersOf(const std::string& sandbox_id) const {
  std::vector<std::shared_ptr<Container>> all = Containers();
  std::erase_if(all, [&](const auto& container) { return container->sandbox_id != sandbox_id; });
  return all;
}

std::vector<std::shared_ptr<Sandbox>> Objects::RemainsOf(const SandboxRecord& pod) const {
  std::vector<std::shared_ptr<Sandbox>> all = Sandboxes();
  std::erase_if(all, [&pod](const auto& other) {
    absl::MutexLock lock(&other->mutex);
    const SandboxSpec& spec = other->record.spec;
    return other->id == pod.id || spec.uid != pod.spec.uid || spec.name != pod.spec.name ||
           spec.pod_namespace != pod.spec.pod_namespace ||
           (other->record.state == SandboxState::kReady && !other->stopping);
  });
  return all;
}

std::vector<SandboxRecord> Objects::ListSandboxes() const {
  return RecordsOf<SandboxRecord>(ByAge(Sandboxes()));
}

std::vector<ContainerRecord> Objects::ListContainers() const {
  return RecordsOf<ContainerRecord>(ByAge(Containers()));
}

std::vector<ContainerRecord> Objects::ListContainersOf(const std::string& sandbox_id) const {
  return RecordsOf<ContainerRecord>(ByAge(ContainersOf(sandbox_id)));
}

void Objects::VisitSandboxes(VisitSandboxFn visit) const {
  for (const std::shared_ptr<Sandbox>& sandbox : ByAge(Sandboxes())) {
    absl::MutexLock lock(&sandbox->mutex);
    visit(sandbox->record);
  }
}

void Objects::VisitContainers(VisitContainerFn visit) const {
  for (const std::shared_ptr<Container>& container : ByAge(Containers())) {
    absl::MutexLock lock(&container->mutex);
    visit(container->record);
  }
}

void Objects::AddSandbox(const std::shared_ptr<Sandbox>& sandbox, TellFn tell) {
  absl::MutexLock lock(&mutex_);
  sandboxes_.Insert(sandbox->id, sandbox);
  tell();
}

void Objects::AddContainer(const std::shared_ptr<Container>& container) {
  absl::MutexLock lock(&mutex_);
  containers_.Insert(container->id, container);
}

void Objects::RemoveSandbox(const std::string& id, TellFn tell) {
  absl::MutexLock lock(&mutex_);
  sandboxes_.Erase(id);
  tell();
}

void Objects::RemoveContainer(const std::string& id, TellFn tell) {
  absl::MutexLock lock(&mutex_);
  containers_.Erase(id);
  tell();
}

absl::Status Objects::ReserveName(const std::string& key, const std::string& id,
                                  absl::string_view what) {
  absl::MutexLock lock(&mutex_);
  const auto [it, inserted] = names_.try_emplace(key, id);
  if (inserted) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat(what, " is there already, with id ", it->second,
                                               "; remove it first, or use another attempt number"));
}

void Objects::ReleaseName(const std::string& id) {
  absl::MutexLock lock(&mutex_);
  absl::erase_if(names_, [&](const auto& name) { return name.second == id; });
}

std::vector<std::string> Objects::IdsInTheMaking() const {
  std::vector<std::string> ids;
  absl::MutexLock lock(&mutex_);
  for (const auto& [key, id] : names_) {
    if (!sandboxes_.Find(id).ok() && !containers_.Find(id).ok()) ids.push_back(id);
  }
  return ids;
}

}  // namespace plimsoll::runtime
