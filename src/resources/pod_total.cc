#include "resources/pod_total.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"

namespace plimsoll::resources {
namespace {

void Add(const ResourceList& from, ResourceList* to) {
  for (const auto& [name, amount] : from) {
    const auto [it, added] = to->emplace(name, amount);
    if (!added) it->second = it->second + amount;
  }
}

void RaiseTo(const ResourceList& least, ResourceList* to) {
  for (const auto& [name, amount] : least) {
    const auto [it, added] = to->emplace(name, amount);
    if (!added) it->second = std::max(it->second, amount);
  }
}

bool CanBeOfAPod(const std::string& name) {
  return name == "cpu" || name == "memory" || absl::StartsWith(name, "hugepages-");
}

// `list` is Requirements::requests or Requirements::limits.
ResourceList TotalOf(const std::vector<ContainerRequirements>& containers,
                     ResourceList Requirements::*list) {
  ResourceList running;         // containers and sidecars
  ResourceList sidecars;        // those started so far
  ResourceList while_starting;  // the most at a time while init containers run
  for (const ContainerRequirements& container : containers) {
    const ResourceList& asked = container.requirements.*list;
    if (container.role != ContainerRequirements::Role::kInit) Add(asked, &running);
    if (container.role == ContainerRequirements::Role::kContainer) continue;
    if (container.role == ContainerRequirements::Role::kSidecar) {
      Add(asked, &sidecars);
      RaiseTo(sidecars, &while_starting);
    } else {
      ResourceList now = sidecars;
      Add(asked, &now);
      RaiseTo(now, &while_starting);
    }
  }
  RaiseTo(while_starting, &running);
  return running;
}

bool IsAbove0(const ResourceList& list, const std::string& name) {
  const auto at = list.find(name);
  return at != list.end() && at->second.Sign() > 0;
}

bool HasAmountOfAPod(const ResourceList& list) {
  return std::any_of(list.begin(), list.end(),
                     [](const auto& one) { return CanBeOfAPod(one.first); });
}

}  // namespace

Requirements PodTotal(const std::vector<ContainerRequirements>& containers, const Requirements& pod,
                      const ResourceList& overhead) {
  Requirements total = {TotalOf(containers, &Requirements::requests),
                        TotalOf(containers, &Requirements::limits)};
  for (const auto& [name, request] : pod.requests) {
    if (CanBeOfAPod(name)) total.requests[name] = request;
  }
  for (const auto& [name, limit] : pod.limits) {
    if (!CanBeOfAPod(name)) continue;
    total.limits[name] = limit;
    total.requests.emplace(name, limit);  // no container requests less
  }
  for (const auto& [name, amount] : overhead) {
    const auto limit = total.limits.find(name);
    if (limit != total.limits.end() && !limit->second.IsZero()) {
      limit->second = limit->second + amount;
    }
  }
  Add(overhead, &total.requests);
  return total;
}

// An init container counts together with the sidecars before it, as in kubelet: one limited sidecar
// is enough for those that start after it.
bool IsBounded(const std::vector<ContainerRequirements>& containers, const Requirements& pod,
               const std::string& resource) {
  using Role = ContainerRequirements::Role;
  if (IsAbove0(pod.limits, resource)) return true;
  bool sidecar_is = false;
  return std::all_of(containers.begin(), containers.end(), [&](const auto& container) {
    const bool is = IsAbove0(container.requirements.limits, resource);
    if (container.role == Role::kContainer) return is;
    sidecar_is |= is && container.role == Role::kSidecar;
    return is || sidecar_is;
  });
}

QosClass PodQosClass(const std::vector<ContainerRequirements>& containers,
                     const Requirements& pod) {
  if (!HasAmountOfAPod(pod.requests) && !HasAmountOfAPod(pod.limits)) {
    return ComputeQosClass(containers);
  }
  // One "container" with the pod's amounts has the pod's class.
  const Requirements total = PodTotal(containers, pod, /*overhead=*/{});
  return ComputeQosClass({{.requirements = {total.requests, pod.limits}}});
}

}  // namespace plimsoll::resources
