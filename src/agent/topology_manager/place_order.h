// Which of several places kubelet's topology manager prefers.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_PLACE_ORDER_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_PLACE_ORDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/topology_manager/node_distances.h"
#include "agent/topology_manager/node_mask.h"
#include "agent/topology_manager/node_range.h"

namespace plimsoll::agent {

// Strict orders of sets of nodes.
class PlaceOrder {
 public:
  // `distances`: with prefer-closest-numa-nodes; else null. Outlives this.
  explicit PlaceOrder(const NodeDistances* distances) : distances_(distances) {}

  // kubelet's Narrowest or Closest.
  bool IsNarrower(NodeMask a, NodeMask b) const;
  // The choice among places that aren't preferred: as many nodes as are needed are the best, fewer
  // come next, more come last.
  bool IsNearer(NodeMask a, NodeMask b, int needed) const;
  // The nearest set of all that the ranges have, but for the empty one; nullopt: there is none.
  // Ranges of more than one set have at most 16 nodes.
  std::optional<NodeMask> Nearest(const std::vector<NodeRange>& ranges, int needed) const;

 private:
  std::optional<NodeMask> Closest(const std::vector<NodeRange>& ranges, int size) const;

  const NodeDistances* distances_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_PLACE_ORDER_H_
