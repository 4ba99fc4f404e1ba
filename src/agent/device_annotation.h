// The annotation plimsoll.dev/cdi of a pod, beside the devices that the configuration counts.
#ifndef PLIMSOLL_AGENT_DEVICE_ANNOTATION_H_
#define PLIMSOLL_AGENT_DEVICE_ANNOTATION_H_

#include <optional>

#include "agent/device_manager/configured_devices.h"
#include "agent/pods/records/pod_record.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// nullopt: the pod's annotations name none of `devices`. One of these may be another pod's alone,
// and is got by a request of its resource.
std::optional<PodVerdict> CountedDeviceRejection(const pod::Manifest& pod,
                                                 const NodeDevices& devices);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_ANNOTATION_H_
