#include "kubelet/config/node_share.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::kubelet {
namespace {

using resources::CpuSet;
using topology::Zone;
using topology::ZoneResource;

uint64_t Minus(uint64_t a, uint64_t b) {
  return a > b ? a - b : 0;
}

uint64_t BytesOf(const ZoneResource& resource) {
  const int64_t value = resource.capacity.Value();
  return value > 0 ? static_cast<uint64_t>(value) : 0;
}

absl::Status OfAnotherMachine(absl::string_view what) {
  return absl::FailedPreconditionError(
      absl::StrCat("the topology isn't this machine's: it has ", what));
}

// Adds a zone's resources to the sums, and to its NUMA node's.
absl::Status AddResources(const Zone& zone, std::map<std::string, uint64_t>* told_pages,
                          KubeletShare* share) {
  NumaShare* node = nullptr;
  if (topology::IsOfType(zone, topology::kNumaNode)) {
    const auto number = topology::NumberOf(zone);
    const auto found = number ? share->nodes.find(*number) : share->nodes.end();
    if (found == share->nodes.end()) {
      return OfAnotherMachine(absl::StrCat("the NUMA node \"", zone.name, "\""));
    }
    node = &found->second;
  }
  for (const ZoneResource& resource : zone.resources) {
    const uint64_t bytes = BytesOf(resource);
    const bool is_huge = absl::StartsWith(resource.name, topology::kHugepagesPrefix);
    if (resource.name == topology::kCpu) share->told_cpu_count += bytes;
    if (resource.name != topology::kMemory && !is_huge) continue;
    if (node == nullptr) {
      share->has_hidden_nodes = share->has_hidden_nodes || bytes > 0;
    } else {
      (is_huge ? node->told_hugepages : node->told_memory) += bytes;
    }
    (is_huge ? share->told_hugepages : share->told_memory) += bytes;
    if (is_huge) (*told_pages)[resource.name] += bytes;
  }
  return absl::OkStatus();
}

std::string PagesName(uint64_t page_bytes) {
  const auto size = static_cast<int64_t>(page_bytes);
  return absl::StrCat(
      topology::kHugepagesPrefix,
      resources::Quantity::FromInt(size, resources::Quantity::Format::kBinarySi).Canonical());
}

// "hugepages-2Mi" -> bytes.
std::map<std::string, uint64_t> AddNodes(const topology::Machine& machine, KubeletShare* share) {
  std::map<std::string, uint64_t> pages;
  for (const topology::NumaNode& node : machine.nodes) {
    NumaShare& added = share->nodes[node.id];
    added.memory = node.memory_bytes;
    for (const auto& [size, count] : node.hugepages) {
      added.hugepages += size * count;
      pages[PagesName(size)] += size * count;
    }
  }
  return pages;
}

absl::Status CheckFits(const KubeletShare& share) {
  if (!share.told_cpus.IsSubsetOf(share.cpus)) {
    return OfAnotherMachine(absl::StrCat("CPUs ", share.told_cpus.Difference(share.cpus).ToString(),
                                         ", and CPUs ", share.cpus.ToString(), " are online"));
  }
  for (const auto& [id, node] : share.nodes) {
    if (node.told_memory > node.memory) {
      return OfAnotherMachine(
          absl::StrCat(node.told_memory, " bytes of NUMA node ", id, ", which has ", node.memory));
    }
  }
  return absl::OkStatus();
}

}  // namespace

CpuSet KubeletShare::LeftOut() const {
  return has_numbers ? cpus.Difference(told_cpus) : CpuSet();
}

uint64_t KubeletShare::PlainMemory() const {
  uint64_t sum = 0;
  for (const auto& [id, node] : nodes) sum += Minus(node.memory, node.hugepages);
  return sum;
}

uint64_t KubeletShare::ToldPlainMemory() const {
  return Minus(told_memory, told_hugepages);
}

absl::StatusOr<KubeletShare> ShareOf(const topology::Topology& told,
                                     const topology::Machine& machine, const CpuSet& online) {
  PLIMSOLL_ASSIGN_OR_RETURN(const topology::ZoneTree tree, topology::ZoneTree::Build(told));
  KubeletShare share{.cpus = online.Union(machine.cpus), .swap = machine.swap_bytes.value_or(0)};
  const std::map<std::string, uint64_t> pages = AddNodes(machine, &share);
  std::map<std::string, uint64_t> told_pages;
  for (const Zone& zone : told.zones) {
    PLIMSOLL_RETURN_IF_ERROR(AddResources(zone, &told_pages, &share));
  }
  share.told_cpus = tree.Cpus();
  share.has_numbers = !share.told_cpus.Empty();
  if (share.has_numbers) share.told_cpu_count = share.told_cpus.Size();
  for (const auto& [name, bytes] : pages) {
    if (bytes > told_pages[name]) share.left_hugepages[name] = bytes - told_pages[name];
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckFits(share));
  return share;
}

}  // namespace plimsoll::kubelet
