// Devices of the node that the configuration names: the manager itself answers for them, as their
// plugin would.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_CONFIGURED_DEVICES_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_CONFIGURED_DEVICES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/device_manager/device_stock.h"
#include "base/fs_root.h"
#include "pod_runner/cri_requests/context.h"

namespace plimsoll::agent {

// One unit of an extended resource: a CDI device, or a node of the host's /dev.
struct NodeDevice {
  std::string cdi_name;  // "vendor.com/gpu=0"; empty: `node` counts
  pod::HostDeviceNode node;
  std::optional<uint32_t> numa_node;  // near it; nullopt: that of a `node` is the kernel's

  // Names the device among all of the machine, also after a restart.
  const std::string& id() const { return cdi_name.empty() ? node.host_path : cdi_name; }
};

// By extended resource ("example.com/gpu"), in the order in which they are handed out.
using NodeDevices = std::map<std::string, std::vector<NodeDevice>>;

// All healthy. `root` is "/": sysfs has the NUMA nodes of PCI devices.
DeviceStock StockOf(const NodeDevices& devices, const FsRoot& root);

// The nodes, mounts and variables that a container gets for these devices. FAILED_PRECONDITION: one
// was removed from the configuration.
absl::StatusOr<pod::GivenDevices> GivenOf(const NodeDevices& devices, const std::string& resource,
                                          const std::vector<std::string>& ids);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_CONFIGURED_DEVICES_H_
