// This node's classes as devices of a DRA pool.
#ifndef PLIMSOLL_KUBE_DRIVER_POOL_DEVICES_H_
#define PLIMSOLL_KUBE_DRIVER_POOL_DEVICES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "kube/link/runtime_link.h"
#include "qos/class_devices.h"

namespace plimsoll::kube {

// A string of a device's attribute is at most this long (k8s.io/api/resource/v1,
// DeviceAttributeMaxValueLength).
inline constexpr size_t kMaxAttributeBytes = 64;

struct PoolDevice {
  std::string name;
  qos::ClassId id;
  nlohmann::json object;  // as in a ResourceSlice, without taints
  std::string drift;      // one line; empty: the kernel is as the class says
  bool operator==(const PoolDevice&) const = default;
};

// Sorted by name. A type that the machine can't have, or a removed class, has no device.
std::vector<PoolDevice> PoolDevicesOf(const NodeReport& report);

// The text, or its beginning and "..." where it is longer than an attribute may be. Whole UTF-8
// characters.
std::string AttributeText(absl::string_view text);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_DRIVER_POOL_DEVICES_H_
