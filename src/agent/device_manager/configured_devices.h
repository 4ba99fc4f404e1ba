// Devices of the node that the configuration names.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_CONFIGURED_DEVICES_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_CONFIGURED_DEVICES_H_

#include <map>
#include <string>
#include <vector>

#include "pod/context.h"

namespace plimsoll::agent {

// One unit of an extended resource: a CDI device, or a node of the host's /dev.
struct NodeDevice {
  std::string cdi_name;  // "vendor.com/gpu=0"; empty: `node` counts
  pod::DeviceNode node;

  // Names the device among all of the machine, also after a restart.
  const std::string& id() const { return cdi_name.empty() ? node.host_path : cdi_name; }
};

// By extended resource ("example.com/gpu"), in the order in which they are handed out.
using NodeDevices = std::map<std::string, std::vector<NodeDevice>>;

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_CONFIGURED_DEVICES_H_
