// All the masks that result when one mask is taken of each of several lists, and these are
// intersected: kubelet's topology manager chooses among them. The number of ways to take them is
// the product of the lists' lengths; the number of results is not.
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_COMMON_MASKS_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_COMMON_MASKS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "agent/topology_manager/node_mask.h"

namespace plimsoll::agent {

// Accumulates lists one by one.
//   CommonMasks common(all, better);
//   for (const auto& masks : lists) common.Intersect(masks);
//   common.masks();
// Up to kExactNodes nodes the result is complete, and a list costs at most about 3 * n * 2^n steps.
// On larger machines a list costs at most about kMostPairs steps: where there are more pairs of a
// result so far and a mask of the list, only the results that are `better` go on. (kubelet's walk
// over 2^17 masks of each list never ends.)
class CommonMasks {
 public:
  static constexpr int kExactNodes = 16;
  static constexpr size_t kMostPairs = size_t{1} << 22;
  using Better = std::function<bool(NodeMask a, NodeMask b)>;  // a strict order

  // Starts with `all` alone: nodes outside of it never count.
  CommonMasks(NodeMask all, Better better);

  void Intersect(std::vector<NodeMask> masks);
  // Without the empty mask, each once, in no particular order.
  const std::vector<NodeMask>& masks() const { return masks_; }

 private:
  // Cuts the masks down to `all`, each once, without the empty one.
  void Restrict(std::vector<NodeMask>& masks) const;
  void IntersectPairs(const std::vector<NodeMask>& masks);
  void IntersectDense(const std::vector<NodeMask>& masks);

  NodeMask all_;
  Better better_;
  std::vector<uint32_t> nodes_;
  std::vector<NodeMask> masks_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_COMMON_MASKS_H_
