// The devices that the node has at a moment: plugins' and the configuration's.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_STOCK_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_STOCK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/topology_manager/hint.h"
#include "agent/topology_manager/node_mask.h"

namespace plimsoll::agent {

struct Device {
  std::string id;  // unique in its resource
  bool healthy = true;
  std::optional<NodeMask> nodes;  // NUMA nodes near it; nullopt: none are known
};
struct DeviceResource {
  std::vector<Device> devices;  // in the order in which they are handed out
  bool has_preference = false;  // its plugin answers GetPreferredAllocation
  bool is_served = true;        // false: its plugin went away, and can't answer Allocate
};
// By extended resource ("example.com/gpu").
using DeviceStock = std::map<std::string, DeviceResource>;

using DeviceIds = std::set<std::string>;
// Ids of the devices that a pod's containers have: container -> extended resource -> ids.
using DeviceClaims = std::map<std::string, std::map<std::string, std::vector<std::string>>>;

// Asks a plugin for its choice of `count` among `available`, with all of `must_include`.
using PreferDevices = std::function<absl::StatusOr<std::vector<std::string>>(
    const std::string& resource, const std::vector<std::string>& available,
    const std::vector<std::string>& must_include, int64_t count)>;

// A choice of devices for one container. Pure functions.
struct DeviceRequest {
  std::string resource;
  int64_t count = 0;
  const DeviceResource* devices = nullptr;  // null: the node has no such resource
  DeviceIds held;                           // by others
  DeviceIds reusable;                       // of init containers of the pod that have ended by then
};
// nullopt: no device has known NUMA nodes. `nodes`: the machine's.
std::optional<std::vector<Hint>> DeviceHints(const DeviceRequest& request, NodeMask nodes);
// The order of choice is kubelet's: reusable ones first; then devices at the hint's nodes, then
// those without nodes, then others; a plugin's preference within each. RESOURCE_EXHAUSTED in
// kubelet's words: too few healthy ones. Errors of `prefer`.
absl::StatusOr<std::vector<std::string>> ChooseDevices(const DeviceRequest& request,
                                                       std::optional<NodeMask> nodes,
                                                       const PreferDevices& prefer);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_STOCK_H_
