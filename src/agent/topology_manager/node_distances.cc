#include "agent/topology_manager/node_distances.h"

#include <bit>
#include <map>

namespace plimsoll::agent {

NodeDistances::NodeDistances(const topology::MachineMaps& maps) : own_(NodeMask::kMost) {
  std::map<uint32_t, std::map<uint32_t, int64_t>> others;
  for (const auto& [from, node] : maps.nodes) {
    if (from >= NodeMask::kMost) continue;
    for (const auto& [to, distance] : node.distances) {
      if (to >= NodeMask::kMost) continue;
      if (to == from) {
        own_[from] = distance;
        continue;
      }
      others[from][to] += distance;
      others[to][from] += distance;
    }
  }
  for (uint32_t node = 0; node < NodeMask::kMost; ++node) both_ways_.emplace_back(others[node]);
}

uint64_t NodeDistances::Within(NodeMask mask) const {
  uint64_t sum = 0;
  NodeMask begun;
  for (uint64_t left = mask.bits(); left != 0; left &= left - 1) {
    const auto node = static_cast<uint32_t>(std::countr_zero(left));
    sum += Added(begun, node);
    begun.Add(node);
  }
  return sum;
}

}  // namespace plimsoll::agent
