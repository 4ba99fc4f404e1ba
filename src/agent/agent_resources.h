// The agent's pods and node, as the PodResources service asks for them.
#ifndef PLIMSOLL_AGENT_AGENT_RESOURCES_H_
#define PLIMSOLL_AGENT_AGENT_RESOURCES_H_

#include <memory>
#include <string>
#include <vector>

#include "agent/device_manager/device_manager.h"
#include "agent/pod_resources/pod_resources_source.h"
#include "agent/pods_place.h"

namespace plimsoll::agent {

class AgentResources final : public PodResourcesSource {
 public:
  // Both outlive this.
  AgentResources(const PodsPlace& pods, const DeviceManager& devices)
      : pods_(pods), devices_(devices) {}

  absl::StatusOr<std::vector<ReportedPod>> Holders() const override;
  absl::StatusOr<ReportedPod> Find(const std::string& pod_namespace,
                                   const std::string& name) const override;
  absl::StatusOr<std::shared_ptr<const NodeManagers>> Managers() const override;
  DeviceStock Devices() const override { return devices_.Stock(); }

 private:
  const PodsPlace& pods_;
  const DeviceManager& devices_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_AGENT_RESOURCES_H_
