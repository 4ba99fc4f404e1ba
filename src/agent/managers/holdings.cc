#include "agent/managers/holdings.h"

#include <algorithm>

namespace plimsoll::agent {
namespace {

// The most that `ended` can give, in bytes.
int64_t Give(MemoryBlock& ended, uint32_t node, int64_t bytes) {
  const auto share = ended.shares.find(node);
  if (share == ended.shares.end()) return 0;
  const int64_t given = std::min(share->second, bytes);
  share->second -= given;
  ended.bytes -= given;
  if (share->second == 0) ended.shares.erase(share);
  return given;
}

}  // namespace

void Holdings::Add(const PodGrant& grant) {
  cpus = cpus.Union(grant.ExclusiveCpus());
  for (MemoryBlock& block : MemoryOf(grant)) memory.push_back(std::move(block));
  for (const auto& [container, of_container] : grant.devices) {
    for (const auto& [resource, ids] : of_container) {
      devices[resource].insert(ids.begin(), ids.end());
    }
  }
}

std::vector<MemoryBlock> MemoryOf(const PodGrant& grant) {
  if (!grant.pod.memory.empty()) return grant.pod.memory;
  std::vector<MemoryBlock> blocks;
  for (const auto& [name, container] : grant.containers) {
    blocks.insert(blocks.end(), container.memory.begin(), container.memory.end());
  }
  return blocks;
}

void TakeFromEnded(const MemoryBlock& block, std::vector<MemoryBlock*> ended) {
  std::erase_if(ended, [&](const MemoryBlock* each) {
    return each->resource != block.resource || each->nodes != block.nodes;
  });
  int64_t left = block.bytes;
  for (const auto& [node, bytes] : block.shares) {
    int64_t left_here = bytes;
    for (MemoryBlock* each : ended) {
      const int64_t given = Give(*each, node, left_here);
      left_here -= given;
      left -= given;
    }
  }
  // A block's nodes hold it together: which of them gives the rest doesn't matter.
  for (MemoryBlock* each : ended) {
    for (const uint32_t node : each->nodes.ToVector()) left -= Give(*each, node, left);
  }
}

}  // namespace plimsoll::agent
