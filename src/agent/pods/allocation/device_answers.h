// Plugins' answers for containers' devices, and their notices of a start.
#ifndef PLIMSOLL_AGENT_PODS_ALLOCATION_DEVICE_ANSWERS_H_
#define PLIMSOLL_AGENT_PODS_ALLOCATION_DEVICE_ANSWERS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/device_manager/device_manager.h"
#include "agent/managers/pod_grant.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// FAILED_PRECONDITION: a container requests more of a resource of devices than the grant has.
absl::Status CheckDevices(const DeviceStock& stock, const pod::Manifest& pod,
                          const PodGrant& grant);

// FAILED_PRECONDITION names a device of the grant that its resource has no more. That of a plugin
// which is away may come back.
absl::Status CheckPresence(const DeviceStock& stock, const PodGrant& grant);

// Asks the plugins for each container with devices whose answer the grant lacks, and adds those
// of the grant. Takes as long as the plugins. Errors of DeviceManager::Allocate. `devices` null:
// FAILED_PRECONDITION if there is something to ask.
absl::StatusOr<std::map<std::string, pod::GivenDevices>> AskForDevices(const DeviceManager* devices,
                                                                       const PodGrant& grant);

// Notifies the plugins of the container's start, where they want to know. Errors of
// DeviceManager::PreStart.
absl::Status TellDevicesOfStart(const DeviceManager* devices, const PodGrant& grant,
                                const std::string& container);

// "Healthy", "Unhealthy", or "Unknown" for a device that is gone (KEP-4680).
std::string DeviceHealthOf(const DeviceStock& stock, const std::string& resource,
                           const std::string& id);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_ALLOCATION_DEVICE_ANSWERS_H_
