#include "agent/pods/allocation/node_room.h"

#include "absl/strings/str_cat.h"
#include "resources/pod_total.h"

namespace plimsoll::agent {
namespace {

resources::Quantity AmountOf(const resources::ResourceList& list, const std::string& name) {
  const auto it = list.find(name);
  return it == list.end() ? resources::Quantity() : it->second;
}

// kubelet reports CPU in thousandths.
int64_t Told(const std::string& name, const resources::Quantity& amount) {
  return name == "cpu" ? amount.MilliValue() : amount.Value();
}

}  // namespace

std::vector<resources::ContainerRequirements> ContainersOf(const pod::Manifest& pod) {
  std::vector<resources::ContainerRequirements> containers;
  for (const pod::ContainerManifest& each : pod.containers) {
    containers.push_back({each.role, resources::WithDefaults(each.resources)});
  }
  return containers;
}

resources::ResourceList RequestsOf(const pod::Manifest& pod) {
  resources::ResourceList requests =
      resources::PodTotal(ContainersOf(pod), pod.resources.value_or(resources::Requirements()),
                          /*overhead=*/{})
          .requests;
  requests["pods"] = resources::Quantity::FromInt(1);
  return requests;
}

void Add(const resources::ResourceList& requests, resources::ResourceList& sum) {
  for (const auto& [name, amount] : requests) sum[name] = sum[name] + amount;
}

std::optional<PodVerdict> RejectionOf(const resources::ResourceList& requests,
                                      const resources::ResourceList& used,
                                      const resources::ResourceList& allocatable) {
  for (const auto& [name, amount] : requests) {
    if (amount.IsZero()) continue;
    const resources::Quantity taken = AmountOf(used, name);
    const resources::Quantity room = AmountOf(allocatable, name);
    if (taken + amount <= room) continue;
    return PodVerdict{.reason = absl::StrCat("OutOf", name),
                      .message = absl::StrCat(kRejected, "Node didn't have enough resource: ", name,
                                              ", requested: ", Told(name, amount), ", used: ",
                                              Told(name, taken), ", capacity: ", Told(name, room))};
  }
  return std::nullopt;
}

}  // namespace plimsoll::agent
