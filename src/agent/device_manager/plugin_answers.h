// Checked answers of device plugins: a plugin is a stranger's program.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_ANSWERS_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_ANSWERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/device_manager/device_stock.h"
#include "kubelet/deviceplugin/v1beta1/api.pb.h"
#include "pod_runner/cri_requests/context.h"

namespace plimsoll::agent {

inline constexpr size_t kMaxDevices = 65536;  // of a resource
inline constexpr size_t kMaxDeviceIdBytes = 1024;

struct ListedDevices {
  std::vector<Device> devices;  // in the plugin's order
  std::string fault;            // a sentence about those that were left out; empty: none were
};
// The last of the devices with one id counts, as under kubelet. Left out: ids that are empty,
// longer than kMaxDeviceIdBytes or of control characters, and devices beyond kMaxDevices.
ListedDevices DevicesFrom(const ::v1beta1::ListAndWatchResponse& list);

// The answer for the first container. INVALID_ARGUMENT names what no container can get: a relative
// path or one with "..", permissions other than of "rwm", a name that is none of CDI or of a
// variable, more than 1 MiB. Of two mounts or devices at one path of the container the first
// counts, as under kubelet.
absl::StatusOr<pod::GivenDevices> GivenFrom(const ::v1beta1::AllocateResponse& answer);

// The wish for the first container; empty: none.
std::vector<std::string> PreferredFrom(const ::v1beta1::PreferredAllocationResponse& answer);

// Adds what belongs to another resource of the same container. What is there already stays: a
// variable, an annotation, a path, a CDI device.
void AddGiven(const pod::GivenDevices& more, pod::GivenDevices& given);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_ANSWERS_H_
