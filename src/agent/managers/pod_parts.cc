#include "agent/managers/pod_parts.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace plimsoll::agent {
namespace {

// Bytes of one resource by node, in the pod's block.
using Pool = std::map<std::string, std::map<uint32_t, int64_t>>;

std::map<uint32_t, int64_t> TakeBytes(std::map<uint32_t, int64_t>& pool, int64_t bytes) {
  std::map<uint32_t, int64_t> shares;
  for (auto& [node, free] : pool) {
    const int64_t share = std::min(free, bytes);
    if (share == 0) continue;
    shares[node] = share;
    free -= share;
    bytes -= share;
  }
  return shares;
}

// Takes blocks of these sizes out of the pool.
std::vector<MemoryBlock> TakeBlocks(const PodGrant& grant, const MemoryAmounts& amounts,
                                    Pool& pool) {
  std::vector<MemoryBlock> blocks;
  for (const MemoryBlock& of_pod : grant.pod.memory) {
    const auto amount = amounts.find(of_pod.resource);
    if (amount == amounts.end() || amount->second <= 0) continue;
    MemoryBlock block = {of_pod.resource, of_pod.nodes, 0,
                         TakeBytes(pool[of_pod.resource], amount->second)};
    for (const auto& [node, bytes] : block.shares) block.bytes += bytes;
    blocks.push_back(std::move(block));
  }
  return blocks;
}

NodeMask NodesOf(const std::vector<MemoryBlock>& blocks) {
  NodeMask nodes;
  for (const MemoryBlock& each : blocks) nodes = nodes | each.nodes;
  return nodes;
}

}  // namespace

absl::Status DivideCpus(const PodDemand& demand, const TakeCpus& take, PodGrant& grant) {
  resources::CpuSet pool = grant.pod.cpus;  // without those of containers that stay
  for (const ContainerDemand& container : demand.containers) {
    ContainerGrant& own = grant.containers[container.name];
    own.cpu_count = container.cpus;
    own.cpus = {};
    if (container.cpus == 0) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(own.cpus, take(container, pool));
    if (!container.IsOrdinaryInit()) pool = pool.Difference(own.cpus);
  }
  DropEmpty(grant);
  return absl::OkStatus();
}

void DivideMemory(const PodDemand& demand, PodGrant& grant) {
  Pool pool;
  for (const MemoryBlock& block : grant.pod.memory) pool[block.resource] = block.shares;
  for (const ContainerDemand& container : demand.containers) {
    std::vector<MemoryBlock>& own = grant.containers[container.name].memory;
    own.clear();
    if (!container.memory) continue;
    Pool left = pool;
    own = TakeBlocks(grant, *container.memory, left);
    if (!container.IsOrdinaryInit()) pool = std::move(left);
  }
  DropEmpty(grant);
}

resources::CpuSet CpusInPod(const PodGrant& grant, const std::vector<PodPart>& containers,
                            size_t index) {
  using Role = resources::ContainerRequirements::Role;
  const bool is_init = containers[index].role == Role::kInit;
  resources::CpuSet left = grant.pod.cpus;
  for (size_t i = 0; i < containers.size(); ++i) {
    const Role role = containers[i].role;
    if (i == index || role == Role::kInit) continue;
    if (is_init && (role == Role::kContainer || i > index)) continue;
    const auto sibling = grant.containers.find(containers[i].container);
    if (sibling != grant.containers.end()) left = left.Difference(sibling->second.cpus);
  }
  return left.Empty() ? grant.pod.cpus : left;
}

NodeMask MemoryNodesOf(const PodGrant& grant, const std::string& container) {
  const auto own = grant.containers.find(container);
  if (own != grant.containers.end() && !own->second.memory.empty()) {
    return NodesOf(own->second.memory);
  }
  return NodesOf(grant.pod.memory);
}

void DropEmpty(PodGrant& grant) {
  std::erase_if(grant.containers, [](const auto& each) { return each.second.Empty(); });
}

}  // namespace plimsoll::agent
