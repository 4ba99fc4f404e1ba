// A set of NUMA nodes (kubelet's pkg/kubelet/cm/topologymanager/bitmask).
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_MASK_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_MASK_H_

#include <bit>
#include <cstdint>
#include <vector>

namespace plimsoll::agent {

// A value. Nodes from 0 to kMost - 1; others are ignored.
class NodeMask {
 public:
  static constexpr uint32_t kMost = 64;

  constexpr NodeMask() = default;
  static constexpr NodeMask Of(uint32_t node) { return FromBits(node < kMost ? Bit(node) : 0); }
  static constexpr NodeMask FromBits(uint64_t bits) {
    NodeMask mask;
    mask.bits_ = bits;
    return mask;
  }

  constexpr void Add(uint32_t node) { bits_ |= node < kMost ? Bit(node) : 0; }
  constexpr bool Contains(uint32_t node) const { return node < kMost && (bits_ & Bit(node)) != 0; }
  constexpr int Count() const { return std::popcount(bits_); }
  constexpr bool Empty() const { return bits_ == 0; }
  constexpr uint64_t bits() const { return bits_; }
  constexpr bool IsSubsetOf(NodeMask other) const { return (bits_ & ~other.bits_) == 0; }
  std::vector<uint32_t> ToVector() const {  // ascending
    std::vector<uint32_t> nodes;
    for (uint64_t left = bits_; left != 0; left &= left - 1) {
      nodes.push_back(static_cast<uint32_t>(std::countr_zero(left)));
    }
    return nodes;
  }

  friend constexpr NodeMask operator&(NodeMask a, NodeMask b) {
    return FromBits(a.bits_ & b.bits_);
  }
  friend constexpr NodeMask operator|(NodeMask a, NodeMask b) {
    return FromBits(a.bits_ | b.bits_);
  }
  constexpr bool operator==(const NodeMask&) const = default;

 private:
  static constexpr uint64_t Bit(uint32_t node) { return uint64_t{1} << node; }

  uint64_t bits_ = 0;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_NODE_MASK_H_
