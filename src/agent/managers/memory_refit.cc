#include "agent/managers/memory_refit.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/managers/holdings.h"
#include "agent/managers/pod_parts.h"

namespace plimsoll::agent {
namespace {

std::string NodesText(NodeMask nodes) {
  return absl::StrCat(nodes.Count() == 1 ? "NUMA node " : "NUMA nodes ",
                      absl::StrJoin(nodes.ToVector(), ","));
}

}  // namespace

MemoryRefit::MemoryRefit(const NodeManagers& managers, std::vector<RefitPod>& pods)
    : managers_(managers), pods_(pods) {
  if (managers_.memory() != nullptr) free_ = managers_.memory()->allocatable();
}

void MemoryRefit::Run() {
  if (managers_.memory() == nullptr) {
    TakeAllAway();
    return;
  }
  for (RefitPod& pod : pods_) {
    if (pod.is_whole) {
      Keep(pod, "", /*is_ordinary_init=*/false);
      continue;
    }
    for (const ContainerDemand& container : pod.demand.containers) {
      Keep(pod, container.name, container.IsOrdinaryInit());
    }
  }
  for (RefitPod& pod : pods_) {
    if (pod.is_whole) {
      Fill(pod, "");
      if (!pod.has_manifest && pod.grant.pod == pod.before.pod) continue;
      for (auto& [name, own] : pod.grant.containers) own.memory.clear();
      if (!pod.grant.pod.memory.empty()) DivideMemory(pod.demand, pod.grant);
      continue;
    }
    for (const bool init : {false, true}) {
      for (const ContainerDemand& container : pod.demand.containers) {
        if (container.IsOrdinaryInit() == init) Fill(pod, container.name);
      }
    }
  }
}

void MemoryRefit::TakeAllAway() {
  for (RefitPod& pod : pods_) {
    std::vector<std::string> names = {""};
    for (const auto& [name, grant] : pod.grant.containers) names.push_back(name);
    for (const std::string& name : names) {
      std::vector<MemoryBlock>& own = pod.Own(name).memory;
      if (own.empty()) continue;
      const std::string where = NodesText(own.front().nodes);
      pod.faults.push_back(absl::StrCat(Subject(name), " has memory of ", where,
                                        " of its own, and memoryManagerPolicy is None"));
      pod.notes.push_back(absl::StrCat(Subject(name), " gave its memory of ", where,
                                       " back: memoryManagerPolicy is None"));
      own.clear();
    }
  }
}

void MemoryRefit::Keep(RefitPod& pod, const std::string& container, bool is_ordinary_init) {
  std::vector<MemoryBlock>& own = pod.Own(container).memory;
  std::string fault = Mismatch(pod.DemandOf(container), own, is_ordinary_init);
  if (fault.empty()) fault = Take(own);
  if (fault.empty()) return;
  pod.faults.push_back(absl::StrCat(Subject(container), " ", fault));
  own.clear();
}

std::string MemoryRefit::Mismatch(const Demand& demand, const std::vector<MemoryBlock>& blocks,
                                  bool is_ordinary_init) {
  if (!WantsMemory(demand)) {
    return blocks.empty() ? "" : "has memory of its own, and is to share";
  }
  if (blocks.empty()) return "has no memory of its own, and is to have some";
  if (blocks.size() != demand.memory->size()) {
    return "has memory of other kinds than it is to have";
  }
  for (const MemoryBlock& block : blocks) {
    const auto bytes = demand.memory->find(block.resource);
    if (bytes == demand.memory->end()) return "has memory of other kinds than it is to have";
    // An init container's memory is on the records of those after it.
    if (is_ordinary_init ? block.bytes <= bytes->second : block.bytes == bytes->second) continue;
    return absl::StrCat("has ", block.bytes, " bytes of ", block.resource, ", and is to have ",
                        bytes->second);
  }
  return "";
}

std::string MemoryRefit::Take(const std::vector<MemoryBlock>& blocks) {
  MemoryByNode free = free_;
  for (const MemoryBlock& block : blocks) {
    for (const uint32_t node : block.nodes.ToVector()) {
      const auto amounts = free.find(node);
      if (amounts == free.end()) {
        return absl::StrCat("has ", block.resource, " of NUMA node ", node,
                            ", which the node lacks");
      }
      const auto share = block.shares.find(node);
      const int64_t bytes = share == block.shares.end() ? 0 : share->second;
      if (amounts->second[block.resource] < bytes) {
        return absl::StrCat("has ", bytes, " bytes of ", block.resource, " of NUMA node ", node,
                            ", which has ", std::max<int64_t>(0, amounts->second[block.resource]),
                            " left beside older pods");
      }
      amounts->second[block.resource] -= bytes;
    }
  }
  free_ = std::move(free);
  return "";
}

void MemoryRefit::Fill(RefitPod& pod, const std::string& container) {
  std::vector<MemoryBlock>& own = pod.Own(container).memory;
  const std::vector<MemoryBlock>& had = RefitPod::In(pod.before, container).memory;
  if (!own.empty()) return;
  absl::Status status;
  if (WantsMemory(pod.DemandOf(container)) && !JoinOthers(pod, container)) {
    status = Allocate(pod, container);
  }
  if (own.empty() && had.empty()) return;
  std::string note = Subject(container);
  if (!had.empty()) absl::StrAppend(&note, " lost its memory of ", NodesText(had.front().nodes));
  if (!own.empty()) {
    absl::StrAppend(&note, had.empty() ? " got" : " and got", " memory of ",
                    NodesText(own.front().nodes));
  } else if (!status.ok()) {
    absl::StrAppend(&note, " and got none: ", status.message());
  }
  pod.notes.push_back(std::move(note));
}

absl::Status MemoryRefit::Allocate(RefitPod& pod, const std::string& container) {
  ContainerGrant& own = pod.Own(container);
  const MemoryAmounts& amounts = *pod.DemandOf(container).memory;
  std::vector<Hint> hints = {{.nodes = std::nullopt, .preferred = false}};
  const NodeMask near = NodesOf(own.cpus);
  if (!near.Empty()) hints.insert(hints.begin(), {.nodes = near, .preferred = false});
  absl::Status status;
  for (const Hint& hint : hints) {
    absl::StatusOr<std::vector<MemoryBlock>> blocks =
        managers_.memory()->Allocate(amounts, hint, Used(), /*reusable=*/{});
    status = blocks.status();
    if (!blocks.ok()) continue;
    own.memory = *std::move(blocks);
    break;
  }
  return status;
}

bool MemoryRefit::JoinOthers(RefitPod& pod, const std::string& container) {
  bool is_ordinary_init = false;
  const std::vector<MemoryBlock>* others = nullptr;
  for (const ContainerDemand& each : pod.demand.containers) {
    if (each.name == container) is_ordinary_init = each.IsOrdinaryInit();
    if (each.IsOrdinaryInit() || others != nullptr) continue;
    const std::vector<MemoryBlock>& memory = RefitPod::In(pod.grant, each.name).memory;
    if (!memory.empty()) others = &memory;
  }
  if (!is_ordinary_init || others == nullptr) return false;
  const NodeMask nodes = others->front().nodes;
  std::vector<MemoryBlock> blocks;
  for (const auto& [resource, bytes] : *pod.DemandOf(container).memory) {
    blocks.push_back({.resource = resource, .nodes = nodes, .bytes = 0, .shares = {}});
  }
  pod.Own(container).memory = std::move(blocks);
  return true;
}

std::vector<MemoryBlock> MemoryRefit::Used() const {
  std::vector<MemoryBlock> used;
  for (const RefitPod& pod : pods_) {
    for (MemoryBlock& block : MemoryOf(pod.grant)) used.push_back(std::move(block));
  }
  return used;
}

NodeMask MemoryRefit::NodesOf(const resources::CpuSet& cpus) const {
  NodeMask nodes;
  for (const uint32_t cpu : cpus.ToVector()) {
    const auto place = managers_.maps().cpus.find(cpu);
    if (place != managers_.maps().cpus.end()) nodes.Add(place->second.numa_node);
  }
  return nodes;
}

}  // namespace plimsoll::agent
