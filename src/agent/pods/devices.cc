#include "agent/pods/devices.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

using Role = resources::ContainerRequirements::Role;

int64_t RequestOf(const pod::ContainerManifest& container, const std::string& resource) {
  const resources::ResourceList requests = resources::WithDefaults(container.resources).requests;
  const auto it = requests.find(resource);
  return it == requests.end() ? 0 : it->second.Value();
}

// The devices of one resource while a pod's containers choose, in the pod's order.
class Stock {
 public:
  Stock(const std::vector<NodeDevice>& devices, const DeviceIds& held) : total_(devices.size()) {
    for (const NodeDevice& each : devices) {
      if (!held.contains(each.id())) free_.push_back(each.id());
    }
  }

  // Fewer than `count`: there are no more.
  std::vector<std::string> Take(const pod::ContainerManifest& container, size_t count) {
    std::vector<std::string> ids(of_inits_.begin(),
                                 of_inits_.begin() + Difference(std::min(count, of_inits_.size())));
    of_inits_.erase(of_inits_.begin(), of_inits_.begin() + Difference(ids.size()));
    const size_t more = std::min(count - ids.size(), free_.size());
    ids.insert(ids.end(), free_.begin(), free_.begin() + Difference(more));
    free_.erase(free_.begin(), free_.begin() + Difference(more));
    if (container.role == Role::kInit) of_inits_.insert(of_inits_.begin(), ids.begin(), ids.end());
    return ids;
  }
  size_t total() const { return total_; }

 private:
  static std::ptrdiff_t Difference(size_t count) { return static_cast<std::ptrdiff_t>(count); }

  const size_t total_;
  std::vector<std::string> free_;
  std::vector<std::string> of_inits_;  // of init containers that later ones may follow
};

const NodeDevice* Find(const NodeDevices& devices, const std::string& resource,
                       const std::string& id) {
  const auto list = devices.find(resource);
  if (list == devices.end()) return nullptr;
  const auto it = std::find_if(list->second.begin(), list->second.end(),
                               [&](const NodeDevice& each) { return each.id() == id; });
  return it == list->second.end() ? nullptr : &*it;
}

size_t CountOf(const DeviceClaims& claims, const std::string& container,
               const std::string& resource) {
  const auto of_container = claims.find(container);
  if (of_container == claims.end()) return 0;
  const auto ids = of_container->second.find(resource);
  return ids == of_container->second.end() ? 0 : ids->second.size();
}

}  // namespace

resources::ResourceList DeviceCounts(const NodeDevices& devices) {
  resources::ResourceList counts;
  for (const auto& [resource, list] : devices) {
    counts[resource] = resources::Quantity::FromInt(static_cast<int64_t>(list.size()));
  }
  return counts;
}

DeviceIds IdsOf(const DeviceClaims& claims) {
  DeviceIds all;
  for (const auto& [container, of_container] : claims) {
    for (const auto& [resource, ids] : of_container) all.insert(ids.begin(), ids.end());
  }
  return all;
}

std::optional<PodVerdict> ClaimDevices(const NodeDevices& devices, const pod::Manifest& pod,
                                       const DeviceIds& held, DeviceClaims& claims) {
  DeviceClaims chosen;
  for (const auto& [resource, list] : devices) {
    Stock stock(list, held);
    for (const pod::ContainerManifest& container : pod.containers) {
      const int64_t count = RequestOf(container, resource);
      if (count <= 0) continue;
      std::vector<std::string> ids = stock.Take(container, static_cast<size_t>(count));
      if (ids.size() < static_cast<size_t>(count)) {
        return PodVerdict{.reason = absl::StrCat("OutOf", resource),
                          .message = absl::StrCat(
                              "Pod was rejected: Node didn't have enough resource: ", resource,
                              ", container ", container.name, " requested: ", count,
                              ", available: ", ids.size(), ", capacity: ", stock.total())};
      }
      chosen[container.name][resource] = std::move(ids);
    }
  }
  claims = std::move(chosen);
  return std::nullopt;
}

absl::Status GiveDevices(const NodeDevices& devices, const pod::Manifest& pod,
                         const DeviceClaims& claims, pod::PodContext& context) {
  for (const pod::ContainerManifest& container : pod.containers) {
    for (const auto& [resource, list] : devices) {
      const int64_t count = RequestOf(container, resource);
      if (static_cast<int64_t>(CountOf(claims, container.name, resource)) >= count) continue;
      return absl::FailedPreconditionError(
          absl::StrCat("container ", container.name, " requests ", count, " of ", resource,
                       ", and the pod has no devices on record for it; delete the pod and apply "
                       "it anew"));
    }
  }
  std::map<std::string, pod::GivenDevices> given;
  for (const auto& [container, of_container] : claims) {
    for (const auto& [resource, ids] : of_container) {
      for (const std::string& id : ids) {
        const NodeDevice* device = Find(devices, resource, id);
        if (device == nullptr) {
          return absl::FailedPreconditionError(
              absl::StrCat("container ", container, " has device ", id, " of ", resource,
                           ", which is no longer among the devices of the configuration"));
        }
        if (!device->cdi_name.empty()) {
          given[container].cdi_names.push_back(device->cdi_name);
        } else {
          given[container].nodes.push_back(device->node);
        }
      }
    }
  }
  context.devices = std::move(given);
  return absl::OkStatus();
}

}  // namespace plimsoll::agent
