// The places at which one resource of a container or pod could be allocated (kubelet's
// TopologyHint).
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINT_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/topology_manager/node_mask.h"

namespace plimsoll::agent {

struct Hint {
  std::optional<NodeMask> nodes;  // nullopt: any
  bool preferred = false;         // no fewer nodes could ever hold the request
  bool operator==(const Hint&) const = default;
};

// Which of a resource's hints are wanted. Most decisions need the preferred ones alone, of which a
// machine with many NUMA nodes has far fewer. A resource none of whose hints is preferred then has
// an empty list: it has a list exactly where it has one with all hints.
enum class HintChoice { kAll, kPreferred };

// By resource ("cpu", "memory", "example.com/gpu"). A resource with nullopt doesn't care; one with
// an empty list can't be allocated anywhere.
using ResourceHints = std::map<std::string, std::optional<std::vector<Hint>>>;

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINT_H_
