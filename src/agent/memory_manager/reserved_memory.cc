#include "agent/memory_manager/reserved_memory.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/memory_manager/memory_state.h"
#include "base/status.h"
#include "resources/quantity.h"
#include "topology/make_zones.h"
#include "topology/zones/zone.h"

namespace plimsoll::agent {
namespace {

std::string Text(int64_t bytes) {
  return resources::Quantity::FromInt(bytes, resources::Quantity::Format::kBinarySi).Canonical();
}

bool IsMemory(const std::string& resource) {
  return resource == topology::kMemory || absl::StartsWith(resource, topology::kHugepagesPrefix);
}

int64_t HugeBytes(int64_t page_bytes, int64_t pages) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(page_bytes, pages, &bytes)) return std::numeric_limits<int64_t>::max();
  return bytes;
}

// Preallocated huge pages are part of the node's memory, and lost to other use.
MemoryAmounts AmountsOf(const topology::NumaNodeMap& node) {
  MemoryAmounts amounts;
  int64_t huge = 0;
  for (const auto& [page_bytes, pages] : node.hugepages) {
    const int64_t bytes = HugeBytes(page_bytes, pages);
    amounts[topology::HugepagesName(static_cast<uint64_t>(page_bytes))] = bytes;
    huge = SumUpToMost(huge, bytes);
  }
  amounts[topology::kMemory] = std::max<int64_t>(0, node.memory_bytes - huge);
  return amounts;
}

absl::Status Reserve(uint32_t number, const MemoryAmounts& reservations, MemoryAmounts& amounts) {
  for (const auto& [resource, bytes] : reservations) {
    const auto has = amounts.find(resource);
    const int64_t most = has == amounts.end() ? 0 : has->second;
    if (bytes < 0 || bytes > most) {
      return absl::FailedPreconditionError(
          absl::StrCat("reservedMemory: ", Text(bytes), " of \"", resource, "\" of NUMA node ",
                       number, " can't be reserved: the node has ", Text(most),
                       resource == topology::kMemory ? " beside its huge pages" : ""));
    }
    if (has != amounts.end()) has->second -= bytes;
  }
  return absl::OkStatus();
}

absl::Status CheckSums(const MemoryByNode& reservations, const MemoryAmounts& reserved) {
  std::map<std::string, std::pair<int64_t, int64_t>> sums;  // of the nodes, of the machine
  for (const auto& [number, amounts] : reservations) {
    for (const auto& [resource, bytes] : amounts) {
      int64_t& sum = sums[resource].first;
      sum = SumUpToMost(sum, bytes);
    }
  }
  for (const auto& [resource, bytes] : reserved) {
    if (IsMemory(resource)) sums[resource].second = bytes;
  }
  for (const auto& [resource, both] : sums) {
    if (both.first == both.second) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "reservedMemory: the total amount \"", Text(both.first), "\" of type \"", resource,
        "\" is not equal to the value \"", Text(both.second),
        "\" determined by Node Allocatable feature: systemReserved, kubeReserved and the hard "
        "eviction threshold together"));
  }
  return absl::OkStatus();
}

absl::Status CheckNodes(const topology::MachineMaps& maps, const MemoryByNode& reservations) {
  if (!maps.nodes.empty() && maps.nodes.rbegin()->first >= NodeMask::kMost) {
    return absl::FailedPreconditionError(
        absl::StrCat("NUMA node ", maps.nodes.rbegin()->first, " is beyond ", NodeMask::kMost - 1,
                     ", the highest number that memoryManagerPolicy Static can give memory of"));
  }
  for (const auto& [number, amounts] : reservations) {
    if (maps.nodes.contains(number)) continue;
    std::vector<uint32_t> numbers;
    for (const auto& [node, unused] : maps.nodes) numbers.push_back(node);
    return absl::FailedPreconditionError(absl::StrCat(
        "the reserved memory configuration references a NUMA node ", number,
        " that does not exist on this machine, which has ", absl::StrJoin(numbers, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MemoryByNode> AllocatableMemory(const topology::MachineMaps& maps,
                                               const MemoryByNode& reservations,
                                               const MemoryAmounts& reserved) {
  PLIMSOLL_RETURN_IF_ERROR(CheckNodes(maps, reservations));
  PLIMSOLL_RETURN_IF_ERROR(CheckSums(reservations, reserved));
  int64_t memory = 0;
  for (const auto& [number, amounts] : reservations) {
    const auto found = amounts.find(topology::kMemory);
    if (found != amounts.end()) memory = SumUpToMost(memory, found->second);
  }
  if (memory <= 0) {
    return absl::FailedPreconditionError(
        "[memorymanager] you should specify the system reserved memory: memoryManagerPolicy Static "
        "needs some \"memory\" in reservedMemory");
  }
  MemoryByNode allocatable;
  for (const auto& [number, node] : maps.nodes) {
    allocatable[number] = AmountsOf(node);
    const auto own = reservations.find(number);
    if (own == reservations.end()) continue;
    PLIMSOLL_RETURN_IF_ERROR(Reserve(number, own->second, allocatable[number]));
  }
  return allocatable;
}

}  // namespace plimsoll::agent
