// The source of the PodResources service: the agent's pods and their node.
#ifndef PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_SOURCE_H_
#define PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/device_manager/device_stock.h"
#include "agent/managers/allocation_report.h"
#include "agent/managers/node_managers.h"

namespace plimsoll::agent {

// Thread-safe. Asks no runtime and no plugin, so that no call waits for long.
class PodResourcesSource {
 public:
  virtual ~PodResourcesSource() = default;

  // Pods that have not ended, or whose containers may still use what they were given. UNAVAILABLE:
  // the agent has not read its pods yet.
  virtual absl::StatusOr<std::vector<ReportedPod>> Holders() const = 0;
  // Any pod of the agent; one that has ended has an empty grant. NOT_FOUND in kubelet's words;
  // UNAVAILABLE as above.
  virtual absl::StatusOr<ReportedPod> Find(const std::string& pod_namespace,
                                           const std::string& name) const = 0;
  // UNAVAILABLE: no topology is known yet. Not null.
  virtual absl::StatusOr<std::shared_ptr<const NodeManagers>> Managers() const = 0;
  virtual DeviceStock Devices() const = 0;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_SOURCE_H_
