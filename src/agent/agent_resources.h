// The agent's pods and node, as the PodResources service asks for them.
#ifndef PLIMSOLL_AGENT_AGENT_RESOURCES_H_
#define PLIMSOLL_AGENT_AGENT_RESOURCES_H_

#include <memory>
#include <string>
#include <vector>

#include "agent/node_wiring.h"
#include "agent/pod_resources/pod_resources_source.h"
#include "agent/pods_place.h"

namespace plimsoll::agent {

class AgentResources final : public PodResourcesSource {
 public:
  // Both outlive this.
  AgentResources(const PodsPlace& pods, const NodeWiring& node) : pods_(pods), node_(node) {}

  absl::StatusOr<std::vector<ReportedPod>> Holders() const override;
  absl::StatusOr<ReportedPod> Find(const std::string& pod_namespace,
                                   const std::string& name) const override;
  absl::StatusOr<std::shared_ptr<const NodeManagers>> Managers() const override;
  DeviceStock Devices() const override { return node_.devices().Stock(); }

 private:
  const PodsPlace& pods_;
  const NodeWiring& node_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_AGENT_RESOURCES_H_
