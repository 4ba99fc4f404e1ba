// enforceNodeAllocatable and swap in the agent's configuration.
#ifndef PLIMSOLL_AGENT_ENFORCEMENT_CONFIG_H_
#define PLIMSOLL_AGENT_ENFORCEMENT_CONFIG_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "agent/config.h"
#include "pod_runner/cri_requests/context.h"
#include "yaml/reader.h"

namespace plimsoll::agent {

// Reads the keys enforceNodeAllocatable, systemReservedCgroup, kubeReservedCgroup, failSwapOn and
// memorySwap, after cgroupsPerQOS: without it nothing is enforced by default.
void ReadEnforcement(YamlReader& reader, YamlMapping& mapping, AgentConfig& config);
// Adds these keys to the object, with the values of `config`.
void ShowEnforcement(const AgentConfig& config, nlohmann::json& object);

// INVALID_ARGUMENT as kubelet's validation: an unknown value or one that is there twice, "none"
// beside others, a group and its compressible form, a value without its cgroup, any without
// cgroupsPerQOS.
absl::Status CheckEnforcement(const AgentConfig& config);

bool Enforces(const AgentConfig& config, const std::string& what);
pod::SwapBehavior SwapBehaviorOf(const AgentConfig& config);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_ENFORCEMENT_CONFIG_H_
