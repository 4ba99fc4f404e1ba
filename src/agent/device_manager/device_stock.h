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
  std::optional<NodeMask> nodes;  // NUMA nodes near it; nullopt: it has none
  bool operator==(const Device&) const = default;
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
// nullopt: no device has known NUMA nodes, or they have more than 20. `nodes`: the machine's. Hints
// for a whole pod have no `reusable`.
std::optional<std::vector<Hint>> DeviceHints(const DeviceRequest& request, NodeMask nodes,
                                             HintChoice choice = HintChoice::kAll);
// The order of choice is kubelet's: reusable ones first; then devices near a node of the hint, then
// those near other nodes, then those without nodes. The plugin is asked where it has a choice:
// among the aligned ones if they are more than needed, else among all once the aligned ones are
// taken. RESOURCE_EXHAUSTED in kubelet's words: too few healthy ones, even for a count of 0 if none
// is. Errors of `prefer`, with kubelet's words before them. `prefer` may be null.
absl::StatusOr<std::vector<std::string>> ChooseDevices(const DeviceRequest& request,
                                                       std::optional<NodeMask> nodes,
                                                       const PreferDevices& prefer);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_STOCK_H_
