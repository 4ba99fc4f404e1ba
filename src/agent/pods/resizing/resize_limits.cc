#include "agent/pods/resizing/resize_limits.h"

#include <algorithm>
#include <cstddef>

#include "agent/pods/resizing/resize_check.h"
#include "pod_runner/cri_requests/pod_level.h"
#include "pod_runner/cri_requests/swap.h"
#include "resources/requirements.h"

namespace plimsoll::agent {
namespace {

using Role = resources::ContainerRequirements::Role;

// None is 0.
resources::Quantity RequestIn(const pod::ContainerManifest& container, const char* resource) {
  const auto requests = resources::WithDefaults(container.resources).requests;
  const auto it = requests.find(resource);
  return it == requests.end() ? resources::Quantity() : it->second;
}

// Some container's request differs, of those for which `counts`.
template <typename Counts>
bool AnyDiffers(const pod::Manifest& before, const pod::Manifest& after, const char* resource,
                const Counts& counts) {
  for (size_t i = 0; i < std::min(before.containers.size(), after.containers.size()); ++i) {
    if (counts(i) &&
        RequestIn(before.containers[i], resource) != RequestIn(after.containers[i], resource)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> WhyInfeasible(const pod::Manifest& before, const pod::Manifest& after,
                                         const ManagerOptions& managers,
                                         const pod::PodContext& swap) {
  const auto swaps = [&](size_t i) {
    return !RestartsFor(before.containers[i], "memory") &&
           (pod::MaySwap(before, i, swap) || pod::MaySwap(after, i, swap));
  };
  if (AnyDiffers(before, after, "memory", swaps)) {
    return "In-place resize of containers with swap is not supported.";
  }
  if (pod::QosClassOf(after) != resources::QosClass::kGuaranteed) return std::nullopt;
  const auto is_resizable = [&](size_t i) { return after.containers[i].role != Role::kInit; };
  if (managers.static_cpus && AnyDiffers(before, after, "cpu", is_resizable)) {
    return "Resize is infeasible for Guaranteed Pods alongside CPU Manager policy \"static\"";
  }
  if (managers.static_memory && AnyDiffers(before, after, "memory", is_resizable)) {
    return "Resize is infeasible for Guaranteed Pods alongside Memory Manager policy \"Static\"";
  }
  return std::nullopt;
}

}  // namespace plimsoll::agent
