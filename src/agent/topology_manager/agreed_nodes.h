// The places that all resources prefer.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_AGREED_NODES_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_AGREED_NODES_H_

#include <vector>

#include "agent/topology_manager/hint.h"
#include "agent/topology_manager/node_mask.h"

namespace plimsoll::agent {

// The nodes on which hints of all lists agree that are preferred in each, as far as they are among
// `all`; in no particular order, some perhaps several times. A list with a preferred hint for any
// place agrees to everything; if each list does, `all` is among the result.
std::vector<NodeMask> AgreedNodes(NodeMask all, const std::vector<std::vector<Hint>>& lists);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_AGREED_NODES_H_
