#include "agent/memory_manager/memory_state.h"

#include <algorithm>
#include <map>

namespace plimsoll::agent {
namespace {

int64_t AmountOf(const MemoryAmounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

// Bytes in use of a resource, by node.
std::map<uint32_t, int64_t> SharesOf(const std::string& resource,
                                     const std::vector<MemoryBlock>& used) {
  std::map<uint32_t, int64_t> shares;
  for (const MemoryBlock& block : used) {
    if (block.resource != resource) continue;
    for (const auto& [node, bytes] : block.shares) {
      int64_t& sum = shares[node];
      sum = SumUpToMost(sum, bytes);
    }
  }
  return shares;
}

NodeMask GroupOf(uint32_t node, const std::vector<MemoryBlock>& used) {
  NodeMask group;
  for (const MemoryBlock& block : used) {
    if (!block.nodes.Contains(node)) continue;
    if (block.nodes.Count() == 1) return block.nodes;
    group = block.nodes;
  }
  return group;
}

}  // namespace

MemoryState::MemoryState(const MemoryByNode& allocatable, const MemoryAmounts& request,
                         const std::vector<MemoryBlock>& used) {
  for (const auto& [number, amounts] : allocatable) {
    nodes_.push_back({.node = number, .free = {}, .allocatable = {}, .group = {}});
    all_.Add(number);
    nodes_.back().group = GroupOf(number, used);
    if (!nodes_.back().group.Empty()) used_.Add(number);
  }
  for (const auto& [resource, bytes] : request) {
    request_.push_back(std::max<int64_t>(0, bytes));
    const std::map<uint32_t, int64_t> shares = SharesOf(resource, used);
    std::map<uint32_t, int64_t> free, all;
    for (NodeMemory& node : nodes_) {
      const int64_t has = AmountOf(allocatable.at(node.node), resource);
      const auto share = shares.find(node.node);
      node.allocatable.push_back(has);
      // Less than nothing after the node lost memory.
      node.free.push_back(std::max<int64_t>(0, has - (share == shares.end() ? 0 : share->second)));
      free[node.node] = node.free.back();
      all[node.node] = has;
    }
    free_.emplace_back(free);
    allocatable_.emplace_back(all);
  }
}

bool MemoryState::IsFree(NodeMask mask) const {
  for (size_t i = 0; i < request_.size(); ++i) {
    if (Free(mask, i) < request_[i]) return false;
  }
  return true;
}

bool MemoryState::MixesGroups(NodeMask mask) const {
  if (mask.Count() == 1 || (mask & used_).Empty()) return false;
  return std::any_of(nodes_.begin(), nodes_.end(), [mask](const NodeMemory& node) {
    return mask.Contains(node.node) && !node.group.Empty() && node.group != mask;
  });
}

bool MemoryState::IsOpenTo(NodeMask mask) const {
  if ((mask & used_).Empty()) return true;
  if (mask.Count() != 1) return !MixesGroups(mask);
  return std::none_of(nodes_.begin(), nodes_.end(), [mask](const NodeMemory& node) {
    return mask.Contains(node.node) && node.group.Count() > 1;
  });
}

}  // namespace plimsoll::agent
