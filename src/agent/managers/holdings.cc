#include "agent/managers/holdings.h"

#include <utility>

namespace plimsoll::agent {

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

}  // namespace plimsoll::agent
