#include "agent/agent_resources.h"

#include "agent/pods/agent_pods.h"
#include "agent/pods/holders.h"

namespace plimsoll::agent {
namespace {

absl::Status NotRead() {
  return absl::UnavailableError("the agent has not read its pods yet");
}

}  // namespace

absl::StatusOr<std::vector<ReportedPod>> AgentResources::Holders() const {
  absl::StatusOr<std::vector<ReportedPod>> holders = NotRead();
  pods_.With([&](AgentPods& pods) { holders = plimsoll::agent::Holders(pods); });
  return holders;
}

absl::StatusOr<ReportedPod> AgentResources::Find(const std::string& pod_namespace,
                                                 const std::string& name) const {
  absl::StatusOr<ReportedPod> holder = NotRead();
  pods_.With([&](AgentPods& pods) { holder = HolderOf(pods, {pod_namespace, name}); });
  return holder;
}

absl::StatusOr<std::shared_ptr<const NodeManagers>> AgentResources::Managers() const {
  std::shared_ptr<const NodeManagers> managers = node_.managers();
  if (managers != nullptr) return managers;
  return absl::UnavailableError("the node's topology is not known yet");
}

}  // namespace plimsoll::agent
