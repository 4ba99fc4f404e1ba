#include "cri/messages/object_caches.h"

#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace plimsoll::cri {

std::vector<std::string> ObjectCaches::SandboxIds() {
  std::vector<std::string> ids;
  engine_->VisitSandboxes(
      [&ids](const runtime::SandboxRecord& record) { ids.push_back(record.id); });
  if (sandboxes_.size() > ids.size()) sandboxes_.Retain({ids.begin(), ids.end()});
  return ids;
}

std::vector<std::string> ObjectCaches::ContainerIds() {
  std::vector<std::string> ids;
  engine_->VisitContainers(
      [&ids](const runtime::ContainerRecord& record) { ids.push_back(record.id); });
  if (containers_.size() > ids.size()) containers_.Retain({ids.begin(), ids.end()});
  ForgetRates(ids.size());
  return ids;
}

std::vector<PodIds> ObjectCaches::SandboxAndContainerIds() {
  const std::vector<std::string> sandboxes = SandboxIds();
  std::map<std::string, std::vector<std::string>> containers;  // by sandbox
  size_t there = 0;
  engine_->VisitContainers([&](const runtime::ContainerRecord& record) {
    ++there;
    containers[record.sandbox_id].push_back(record.id);
  });
  ForgetRates(there);
  std::vector<PodIds> pods;
  pods.reserve(sandboxes.size());
  for (const std::string& id : sandboxes) pods.push_back({id, std::move(containers[id])});
  return pods;
}

void ObjectCaches::ForgetRemovedSandboxes() {
  const std::vector<std::string> ids = SandboxIds();
  sandboxes_.Retain({ids.begin(), ids.end()});
}

void ObjectCaches::ForgetRemovedContainers() {
  const std::vector<std::string> ids = ContainerIds();
  containers_.Retain({ids.begin(), ids.end()});
}

void ObjectCaches::ForgetRates(size_t containers) {
  // A container has one, its sandbox another: with more than this, most are stale.
  if (rates_.size() <= 4 * containers + 100) return;
  absl::flat_hash_set<std::string> ids;
  engine_->VisitContainers([&ids](const runtime::ContainerRecord& record) {
    ids.insert(record.id);
    ids.insert(record.sandbox_id);
  });
  rates_.Retain(ids);
}

}  // namespace plimsoll::cri
