// How far a machine's NUMA nodes are from each other.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_DISTANCES_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_DISTANCES_H_

#include <cstdint>
#include <vector>

#include "agent/topology_manager/node_mask.h"
#include "agent/topology_manager/node_sums.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

// Immutable. Nodes from NodeMask::kMost on are ignored.
class NodeDistances {
 public:
  explicit NodeDistances(const topology::MachineMaps& maps);

  // The sum of the distances from each node to each, itself included. kubelet compares averages;
  // sets that are compared have the same number of nodes.
  uint64_t Within(NodeMask mask) const;
  // The sum's growth with one node more.
  uint64_t Added(NodeMask mask, uint32_t node) const {
    const NodeSums& both_ways = both_ways_[node];
    return static_cast<uint64_t>(both_ways.Of(mask)) + own_[node];
  }

 private:
  std::vector<NodeSums> both_ways_;  // by node: to and from others
  std::vector<uint64_t> own_;        // by node: to itself
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_DISTANCES_H_
