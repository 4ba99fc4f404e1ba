#include "agent/managers/refit_pod.h"

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {

const Demand& RefitPod::DemandOf(const std::string& container) const {
  static const Demand kNothing;
  if (container.empty()) return demand.pod;
  for (const ContainerDemand& each : demand.containers) {
    if (each.name == container) return each;
  }
  return kNothing;
}

const ContainerGrant& RefitPod::In(const PodGrant& grant, const std::string& container) {
  static const ContainerGrant kNothing;
  if (container.empty()) return grant.pod;
  const auto it = grant.containers.find(container);
  return it == grant.containers.end() ? kNothing : it->second;
}

ContainerGrant& RefitPod::Own(const std::string& container) {
  return container.empty() ? grant.pod : grant.containers[container];
}

bool WantsMemory(const Demand& demand) {
  return demand.memory && !demand.has_odd_memory && !demand.memory->empty();
}

std::string Subject(const std::string& container) {
  return container.empty() ? "the pod" : absl::StrCat("container ", container);
}

}  // namespace plimsoll::agent
