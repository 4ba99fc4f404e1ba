#include "nri/kept_messages.h"

namespace plimsoll::nri {

void KeptMessages::PodIsVisible(const std::string& id) {
  if (auto found = pods_.find(id); found != pods_.end()) found->second.in_making = false;
}

const api::PodSandbox* KeptMessages::Pod(const std::string& id) const {
  const auto found = pods_.find(id);
  return found == pods_.end() ? nullptr : &found->second.message;
}

const api::Container* KeptMessages::Container(const std::string& id) const {
  const auto found = containers_.find(id);
  return found == containers_.end() ? nullptr : &found->second.message;
}

void KeptMessages::Forget(const std::string& id) {
  pods_.erase(id);
  containers_.erase(id);
}

void KeptMessages::Clear() {
  pods_.clear();
  containers_.clear();
}

std::vector<api::PodSandbox> KeptMessages::PodsInMaking() const {
  std::vector<api::PodSandbox> pods;
  for (const auto& [id, kept] : pods_) {
    if (kept.in_making) pods.push_back(kept.message);
  }
  return pods;
}

std::vector<api::Container> KeptMessages::ContainersInMaking() const {
  std::vector<api::Container> containers;
  for (const auto& [id, kept] : containers_) {
    if (kept.in_making) containers.push_back(kept.message);
  }
  return containers;
}

}  // namespace plimsoll::nri
