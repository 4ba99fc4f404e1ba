// The devices that the plugin offers, as a file says. A line is one of:
//
//   # a comment
//   device gpu0 numa=0 path=/dev/gpu0 cdi=example.com/gpu=0
//   device gpu1 numa=0,1 unhealthy
//   env DRIVER=1.2
//   mount /usr/lib/gpu:/gpu:ro
//   annotation example.com/driver=1.2
//   prefer last
//   prestart
//
// Each container gets all of env, mount and annotation, and what its devices' lines name. "prefer
// last" asks for devices from the end of the list, where kubelet has a choice. "prestart" asks
// kubelet to call before each start of a container. These two count from the plugin's start on.
#ifndef EXAMPLES_DEVICE_PLUGIN_DEVICE_LIST_H_
#define EXAMPLES_DEVICE_PLUGIN_DEVICE_LIST_H_

#include <string>
#include <utility>
#include <vector>

#include "kubelet/deviceplugin/v1beta1/api.pb.h"

struct OwnDevice {
  v1beta1::Device device;  // id, health, NUMA nodes
  std::string path;        // of the host's device node, and of the container's; may be empty
  std::string cdi_name;    // may be empty
};

struct DeviceList {
  std::vector<OwnDevice> devices;
  v1beta1::ContainerAllocateResponse for_all;  // what every container gets
  v1beta1::DevicePluginOptions options;
};

// Throws std::runtime_error, which names the line.
DeviceList ReadDeviceList(const std::string& path);

#endif  // EXAMPLES_DEVICE_PLUGIN_DEVICE_LIST_H_
