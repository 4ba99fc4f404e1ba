// `devices` of the agent's configuration.
#ifndef PLIMSOLL_AGENT_DEVICE_CONFIG_H_
#define PLIMSOLL_AGENT_DEVICE_CONFIG_H_

#include "agent/device_manager/configured_devices.h"
#include "yaml/reader.h"

namespace plimsoll::agent {

// Reads the key "devices" of the mapping, if it is there:
//
//   devices:
//     example.com/gpu:
//     - {cdi: vendor.com/gpu=0}
//     example.com/serial:
//     - {path: /dev/ttyS0, containerPath: /dev/serial, permissions: rw, numaNode: 1}
//
// Fails for a name that is no extended resource's, an entry that is neither or both of the two
// kinds, and a device that is there twice.
void ReadDevices(YamlReader& reader, YamlMapping& mapping, NodeDevices& out);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_CONFIG_H_
