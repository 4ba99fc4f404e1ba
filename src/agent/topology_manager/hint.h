// The places at which one resource of a container or pod could be allocated (kubelet's
// TopologyHint).
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINT_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINT_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/topology_manager/node_mask.h"
#include "agent/topology_manager/node_range.h"

namespace plimsoll::agent {

struct Hint {
  std::optional<NodeMask> nodes;  // nullopt: any
  bool preferred = false;         // no fewer nodes could ever hold the request
  // The hint stands for itself and with any of these nodes beside: only with HintChoice::kRanges.
  NodeMask also = {};
  bool operator==(const Hint&) const = default;
};

// Which of a resource's hints are wanted. Most decisions need the preferred ones alone, of which a
// machine with many NUMA nodes has far fewer. A resource none of whose hints is preferred then has
// an empty list: it has a list exactly where it has one with all hints.
//
// kRanges: all, with as few hints as can say it, in no particular order, none preferred. On 16
// nodes a resource has up to 65,535 hints, which are 16 ranges if it fits on each node.
enum class HintChoice { kAll, kPreferred, kRanges };

inline std::vector<Hint> HintsOf(const std::vector<NodeRange>& ranges) {
  std::vector<Hint> hints;
  hints.reserve(ranges.size());
  for (const NodeRange& each : ranges) {
    hints.push_back({.nodes = each.least, .preferred = false, .also = each.most});
  }
  return hints;
}

// By resource ("cpu", "memory", "example.com/gpu"). A resource with nullopt doesn't care; one with
// an empty list can't be allocated anywhere.
using ResourceHints = std::map<std::string, std::optional<std::vector<Hint>>>;

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_HINT_H_
