// Devices of the node that pods get for themselves (kubelet's device manager, pkg/kubelet/cm).
#ifndef PLIMSOLL_AGENT_PODS_DEVICES_H_
#define PLIMSOLL_AGENT_PODS_DEVICES_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/device_manager/configured_devices.h"
#include "agent/device_manager/device_stock.h"
#include "agent/pods/pod_record.h"
#include "pod/context.h"
#include "pod/manifest.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

// The number of devices of each resource, for the node's capacity.
resources::ResourceList DeviceCounts(const NodeDevices& devices);

DeviceIds IdsOf(const DeviceClaims& claims);

// Chooses devices for each container that requests some, of those that nobody holds. Containers
// after an init container get its devices first: it has ended by then. nullopt: `claims` has them.
// Else the pod is rejected with kubelet's reason, and `claims` stays. Resources without devices are
// none of this function's business.
std::optional<PodVerdict> ClaimDevices(const NodeDevices& devices, const pod::Manifest& pod,
                                       const DeviceIds& held, DeviceClaims& claims);

// Puts the claimed devices into the context. FAILED_PRECONDITION: a container requests more than
// it has on record, or its device has gone from the configuration; the context stays.
absl::Status GiveDevices(const NodeDevices& devices, const pod::Manifest& pod,
                         const DeviceClaims& claims, pod::PodContext& context);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_DEVICES_H_
