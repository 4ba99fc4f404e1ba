#include "agent/managers/pod_parts.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace plimsoll::agent {
namespace {

using Role = resources::ContainerRequirements::Role;

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

std::vector<MemoryBlock> AllOf(const PodGrant& grant, const Pool& pool) {
  MemoryAmounts all;
  for (const auto& [resource, shares] : pool) {
    for (const auto& [node, bytes] : shares) all[resource] += bytes;
  }
  Pool copy = pool;
  return TakeBlocks(grant, all, copy);
}

bool HasOwnMemory(const ContainerDemand& container) {
  return container.memory && !container.memory->empty();
}

}  // namespace

absl::Status DivideCpus(const PodDemand& demand, const TakeCpus& take, PodGrant& grant) {
  resources::CpuSet pool = grant.pod.cpus;  // without the sidecars so far
  std::vector<std::string> sharing;
  for (const ContainerDemand& container : demand.containers) {
    ContainerGrant& own = grant.containers[container.name];
    own.cpu_count = container.cpus;
    own.cpus = pool;
    if (container.cpus > 0) {
      PLIMSOLL_ASSIGN_OR_RETURN(own.cpus, take(container, pool));
      if (!container.IsOrdinaryInit()) pool = pool.Difference(own.cpus);
    } else if (!container.IsOrdinaryInit()) {
      sharing.push_back(container.name);
    }
  }
  for (const std::string& name : sharing) {
    // Only after the machine lost CPUs the pool can be empty.
    grant.containers[name].cpus = pool.Empty() ? grant.pod.cpus : pool;
  }
  return absl::OkStatus();
}

void DivideMemory(const PodDemand& demand, PodGrant& grant) {
  Pool pool;
  for (const MemoryBlock& block : grant.pod.memory) pool[block.resource] = block.shares;
  std::vector<std::string> sharing;
  for (const ContainerDemand& container : demand.containers) {
    std::vector<MemoryBlock>& own = grant.containers[container.name].memory;
    if (container.IsOrdinaryInit()) {
      Pool copy = pool;
      own =
          HasOwnMemory(container) ? TakeBlocks(grant, *container.memory, copy) : AllOf(grant, pool);
    } else if (HasOwnMemory(container)) {
      own = TakeBlocks(grant, *container.memory, pool);
    } else {
      sharing.push_back(container.name);
    }
  }
  for (const std::string& name : sharing) grant.containers[name].memory = AllOf(grant, pool);
}

}  // namespace plimsoll::agent
