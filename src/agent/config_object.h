// The agent's configuration in force, for GET /configz.
#ifndef PLIMSOLL_AGENT_CONFIG_OBJECT_H_
#define PLIMSOLL_AGENT_CONFIG_OBJECT_H_

#include <nlohmann/json.hpp>

#include "agent/config.h"

namespace plimsoll::agent {

// {"kubeletconfig": {...}} as kubelet's: all keys of agent.yaml(5) that are set, flags counted in.
nlohmann::json ConfigObject(const AgentConfig& config);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CONFIG_OBJECT_H_
