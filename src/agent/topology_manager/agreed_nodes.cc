#include "agent/topology_manager/agreed_nodes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace plimsoll::agent {
namespace {

// For quick questions: is a mask among these? Those of the first 16 nodes are looked up in a table
// of bits: half of 16 nodes makes 12,870 masks, of each resource.
class Masks {
 public:
  explicit Masks(const std::vector<NodeMask>& masks) : table_(kTable) {
    for (const NodeMask mask : masks) {
      if (mask.bits() < kTable) {
        table_[mask.bits()] = true;
      } else {
        others_.push_back(mask.bits());
      }
    }
    std::sort(others_.begin(), others_.end());
  }

  bool Contain(NodeMask mask) const {
    if (mask.bits() < kTable) return table_[mask.bits()];
    return std::binary_search(others_.begin(), others_.end(), mask.bits());
  }

 private:
  static constexpr size_t kTable = size_t{1} << 16;

  std::vector<bool> table_;
  std::vector<uint64_t> others_;  // sorted
};

}  // namespace

std::vector<NodeMask> AgreedNodes(NodeMask all, const std::vector<std::vector<Hint>>& lists) {
  bool any = true;  // all lists so far agree to everything
  std::vector<NodeMask> agreed;
  for (const std::vector<Hint>& list : lists) {
    std::vector<NodeMask> preferred;
    bool takes_any = false;
    for (const Hint& hint : list) {
      if (!hint.preferred) continue;
      takes_any = takes_any || !hint.nodes;
      if (hint.nodes) preferred.push_back(*hint.nodes);
    }
    if (!takes_any && !agreed.empty()) {
      const Masks masks(preferred);
      std::erase_if(agreed, [&](NodeMask mask) { return !masks.Contain(mask); });
    }
    if (any) agreed.insert(agreed.end(), preferred.begin(), preferred.end());
    any = any && takes_any;
  }
  if (any) agreed.push_back(all);
  for (NodeMask& mask : agreed) mask = mask & all;
  std::erase_if(agreed, [](NodeMask mask) { return mask.Empty(); });
  return agreed;
}

}  // namespace plimsoll::agent
