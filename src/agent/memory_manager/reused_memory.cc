#include "agent/memory_manager/reused_memory.h"

#include <algorithm>

#include "agent/memory_manager/memory_state.h"

namespace plimsoll::agent {
namespace {

bool IsReusable(const MemoryBlock& block, const std::string& resource, NodeMask nodes) {
  return block.nodes == nodes && block.bytes > 0 && block.resource == resource;
}

// Takes at most `bytes` from the block, and says from which nodes.
std::map<uint32_t, int64_t> TakeFrom(MemoryBlock& block, int64_t bytes) {
  std::map<uint32_t, int64_t> taken;
  for (auto share = block.shares.begin(); share != block.shares.end() && bytes > 0;) {
    const int64_t part = std::min(bytes, share->second);
    bytes -= part;
    block.bytes -= part;
    share->second -= part;
    if (part > 0) taken[share->first] = part;
    share = share->second == 0 ? block.shares.erase(share) : std::next(share);
  }
  return taken;
}

int64_t BytesOf(const std::map<uint32_t, int64_t>& shares) {
  int64_t sum = 0;
  for (const auto& [node, bytes] : shares) sum = SumUpToMost(sum, bytes);
  return sum;
}

}  // namespace

void TakeOver(const std::vector<MemoryBlock>& given, const std::vector<MemoryBlock*>& earlier) {
  for (const MemoryBlock& block : given) {
    int64_t left = block.bytes;
    for (MemoryBlock* const other : earlier) {
      if (left == 0 || !IsReusable(*other, block.resource, block.nodes)) continue;
      left -= BytesOf(TakeFrom(*other, left));
    }
  }
}

int64_t ReusableBytes(const std::vector<MemoryBlock>& reusable, const std::string& resource,
                      NodeMask nodes) {
  int64_t sum = 0;
  for (const MemoryBlock& block : reusable) {
    if (IsReusable(block, resource, nodes)) sum = SumUpToMost(sum, block.bytes);
  }
  return sum;
}

std::map<uint32_t, int64_t> ReusedShares(const std::vector<MemoryBlock>& reusable,
                                         const MemoryBlock& block) {
  std::map<uint32_t, int64_t> shares;
  int64_t left = block.bytes;
  for (MemoryBlock other : reusable) {
    if (left == 0 || !IsReusable(other, block.resource, block.nodes)) continue;
    const std::map<uint32_t, int64_t> taken = TakeFrom(other, left);
    left -= BytesOf(taken);
    for (const auto& [node, bytes] : taken) shares[node] += bytes;
  }
  return shares;
}

}  // namespace plimsoll::agent
