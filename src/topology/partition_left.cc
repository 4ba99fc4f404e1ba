#include "topology/partition_left.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using resources::Quantity;

// A choice with nothing left stays unchanged, and fails.
void CutCpus(const ZoneTree& machine, CpuChoice& choice) {
  const CpuSet& all = machine.Cpus();
  if (choice.list && !choice.list->Intersection(all).Empty()) {
    choice.list = choice.list->Intersection(all);
  }
  if (choice.count && !all.Empty()) {
    choice.count = std::min(*choice.count, static_cast<uint32_t>(all.Size()));
  }
  if (choice.reserved) choice.reserved = choice.reserved->Intersection(all);
  std::vector<std::string> there;
  for (const std::string& zone : choice.zones) {
    if (machine.Find(zone)) there.push_back(zone);
  }
  if (!there.empty()) choice.zones = std::move(there);
}

// Reduces to whole pages, and to the node's memory.
void CutAmount(const std::string& resource, const Quantity& there, Amount& amount) {
  if (!amount.quantity) return;
  if (*amount.quantity > there) amount.quantity = there;
  absl::string_view page = resource;
  if (!absl::ConsumePrefix(&page, kHugepagesPrefix)) return;
  const auto size = Quantity::Parse(page);
  if (!size.ok() || size->Value() <= 0) return;
  const int64_t bytes = amount.quantity->Value();
  amount.quantity =
      Quantity::FromInt(bytes / size->Value() * size->Value(), Quantity::Format::kBinarySi);
}

void CutMemory(const ZoneTree& machine, PartitionConfig& config) {
  for (auto& [resource, nodes] : config.memory) {
    for (auto node = nodes.begin(); node != nodes.end();) {
      const auto zone = machine.Find(node->first);
      const Quantity* there = nullptr;
      if (zone && IsOfType(machine.zone(*zone), kNumaNode)) {
        there = FindResource(machine.zone(*zone), resource);
      }
      if (there == nullptr) {
        node = nodes.erase(node);
      } else {
        CutAmount(resource, *there, node->second);
        ++node;
      }
    }
  }
}

}  // namespace

absl::StatusOr<Partition> MakePartitionOfWhatIsLeft(const PartitionConfig& config,
                                                    const ZoneTree& machine) {
  PartitionConfig left = config;
  CutCpus(machine, left.cpus);
  CutMemory(machine, left);
  // The shown zones are known only after the cut.
  left.show.attributes.clear();
  PLIMSOLL_ASSIGN_OR_RETURN(const Partition bare, MakePartition(left, machine));
  std::set<std::string> shown;
  for (const Zone& zone : bare.shown.zones) shown.insert(zone.name);
  for (const auto& [zone, attributes] : config.show.attributes) {
    if (shown.contains(zone)) left.show.attributes.emplace(zone, attributes);
  }
  return MakePartition(left, machine);
}

}  // namespace plimsoll::topology
