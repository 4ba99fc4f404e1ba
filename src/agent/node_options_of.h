// The node that a configuration asks for.
#ifndef PLIMSOLL_AGENT_NODE_OPTIONS_OF_H_
#define PLIMSOLL_AGENT_NODE_OPTIONS_OF_H_

#include <string>

#include "agent/config.h"
#include "agent/node/node_options.h"

namespace plimsoll::agent {

// CheckNodeOptions says whether it can be used.
NodeOptions NodeOptionsOf(const AgentConfig& config, const std::string& version);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_OPTIONS_OF_H_
