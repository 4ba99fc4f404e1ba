// For tests: the managers of a node with the pods that it has taken, as the agent goes about them:
// a ledger of all grants for each new pod, grants as JSON between restarts.
#ifndef PLIMSOLL_AGENT_MANAGERS_CASE_NODE_FOR_TEST_H_
#define PLIMSOLL_AGENT_MANAGERS_CASE_NODE_FOR_TEST_H_

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/managers/allocation_ledger.h"
#include "agent/managers/case_file_for_test.h"
#include "agent/managers/node_managers.h"
#include "agent/managers/pod_grant.h"
#include "agent/managers/refit.h"
#include "base/status.h"

namespace plimsoll::agent {

// CPUs on which a container runs that has something of its own or its pod's; empty: the shared
// ones. An init container that shares its pod's runs beside the sidecars before it, any other
// container beside all that run as long as the pod.
inline resources::CpuSet CpusOfContainer(const pod::Manifest& pod, const PodGrant& grant,
                                         const std::string& name) {
  using Role = resources::ContainerRequirements::Role;
  const auto own = grant.containers.find(name);
  if (own != grant.containers.end() && !own->second.cpus.Empty()) return own->second.cpus;
  resources::CpuSet cpus = grant.pod.cpus;
  bool is_init = false;
  for (const pod::ContainerManifest& container : pod.containers) {
    if (container.name == name) is_init = container.role == Role::kInit;
  }
  for (const pod::ContainerManifest& container : pod.containers) {
    if (container.name == name && is_init) break;
    const auto other = grant.containers.find(container.name);
    if (container.role != Role::kInit && other != grant.containers.end()) {
      cpus = cpus.Difference(other->second.cpus);
    }
  }
  return cpus;
}

inline ExpectedPod GivenTo(const pod::Manifest& pod, const PodGrant& grant) {
  ExpectedPod given;
  for (const pod::ContainerManifest& container : pod.containers) {
    Expected has;
    has.cpus = CpusOfContainer(pod, grant, container.name).ToString();
    const auto own = grant.containers.find(container.name);
    resources::CpuSet mems;
    for (const auto* blocks :
         {own != grant.containers.end() ? &own->second.memory : nullptr, &grant.pod.memory}) {
      if (blocks == nullptr || !mems.Empty()) continue;
      for (const MemoryBlock& block : *blocks) {
        for (const uint32_t node : block.nodes.ToVector()) mems.Add(node);
      }
    }
    has.mems = mems.ToString();
    const auto devices = grant.devices.find(container.name);
    if (devices != grant.devices.end()) has.devices = devices->second;
    if (has != Expected()) given[container.name] = std::move(has);
  }
  return given;
}

class CaseNode {
 public:
  struct Pod {
    pod::Manifest manifest;
    PodGrant grant;
  };

  static absl::StatusOr<CaseNode> Start(const AllocationCase& allocation,
                                        std::shared_ptr<const topology::MachineMaps> maps) {
    CaseNode node;
    PLIMSOLL_ASSIGN_OR_RETURN(node.options_, OptionsOf(allocation.agent));
    PLIMSOLL_ASSIGN_OR_RETURN(node.managers_, NodeManagers::Make(node.options_, std::move(maps)));
    node.devices_ = allocation.devices;
    return node;
  }

  AllocationLedger Ledger() const {
    AllocationLedger ledger(managers_, devices_, prefer_);
    for (const Pod& pod : pods_) ledger.Hold(pod.grant);
    return ledger;
  }
  std::optional<AllocationLedger::Rejection> Admit(const pod::Manifest& pod) {
    AllocationLedger ledger = Ledger();
    PodGrant grant;
    auto rejection = ledger.Allocate(pod, grant);
    if (!rejection) pods_.push_back({pod, std::move(grant)});
    return rejection;
  }
  void Remove(const std::string& name) {
    std::erase_if(pods_, [&](const Pod& pod) { return pod.manifest.name == name; });
  }
  absl::Status Restart() {
    for (Pod& pod : pods_) {
      const auto text = ToJson(pod.grant).dump();
      PLIMSOLL_ASSIGN_OR_RETURN(pod.grant, PodGrantOf(nlohmann::json::parse(text)));
    }
    auto maps = std::make_shared<const topology::MachineMaps>(managers_->maps());
    PLIMSOLL_ASSIGN_OR_RETURN(managers_, NodeManagers::Make(options_, std::move(maps)));
    return absl::OkStatus();
  }
  // Hot-plug: `unfit` gets CheckFit's verdict on what is there. An error leaves the node as it was.
  absl::Status Change(std::shared_ptr<const topology::MachineMaps> maps,
                      absl::Status* unfit = nullptr) {
    PLIMSOLL_ASSIGN_OR_RETURN(managers_, NodeManagers::Make(options_, std::move(maps)));
    if (unfit != nullptr) *unfit = Fit();
    for (Refitted& changed : Refit(managers_, Granted())) {
      for (Pod& pod : pods_) {
        if (pod.manifest.name == changed.uid) pod.grant = std::move(changed.grant);
      }
    }
    return absl::OkStatus();
  }
  absl::Status Fit() const { return CheckFit(*managers_, Granted()); }
  std::shared_ptr<const NodeManagers> shared_managers() const { return managers_; }

  std::vector<GrantedPod> Granted() const {
    std::vector<GrantedPod> granted;
    for (size_t index = 0; index < pods_.size(); ++index) {
      const Pod& pod = pods_[index];
      granted.push_back({pod.manifest.name, "default/" + pod.manifest.name,
                         absl::FromUnixSeconds(static_cast<int64_t>(index)), &pod.manifest,
                         pod.grant});
    }
    return granted;
  }
  const std::vector<Pod>& pods() const { return pods_; }
  const Pod* Find(const std::string& name) const {
    for (const Pod& pod : pods_) {
      if (pod.manifest.name == name) return &pod;
    }
    return nullptr;
  }
  const NodeManagers& managers() const { return *managers_; }
  void set_prefer(PreferDevices prefer) { prefer_ = std::move(prefer); }
  void set_devices(DeviceStock devices) { devices_ = std::move(devices); }

 private:
  CaseNode() = default;

  ManagerOptions options_;
  std::shared_ptr<const NodeManagers> managers_;
  DeviceStock devices_;
  PreferDevices prefer_;
  std::vector<Pod> pods_;  // oldest first
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_CASE_NODE_FOR_TEST_H_
