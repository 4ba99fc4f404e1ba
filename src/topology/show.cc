#include "topology/show.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using resources::Quantity;

Quantity* MutableResource(Zone& zone, const std::string& name) {
  for (ZoneResource& resource : zone.resources) {
    if (resource.name == name) return &resource.capacity;
  }
  return nullptr;
}

void KeepFirstCpu(Zone& core) {
  const CpuSet cpus = CpuIdsOf(core);
  if (cpus.Size() < 2) return;
  core.attributes[kCpuIds] = absl::StrCat(cpus.ToVector().front());
  Quantity* cpu = MutableResource(core, kCpu);
  if (cpu != nullptr && *cpu > Quantity::FromInt(1)) *cpu = Quantity::FromInt(1);
}

// A core has its CPUs even without the resource: an outer zone has them by it alone.
void AddCpusOfCore(Zone& zone) {
  const CpuSet cpus = CpuIdsOf(zone);
  if (!IsOfType(zone, kCore) || cpus.Empty() || FindResource(zone, kCpu) != nullptr) return;
  zone.resources.push_back({kCpu, Quantity::FromInt(static_cast<int64_t>(cpus.Size()))});
}

// Moves a hidden zone's resources and CPUs to `outer`.
void MoveInto(Zone hidden, Zone& outer) {
  AddCpusOfCore(hidden);
  const bool has_cpus = FindResource(hidden, kCpu) != nullptr;
  const bool had_cpus = FindResource(outer, kCpu) != nullptr;
  for (const ZoneResource& resource : hidden.resources) {
    if (Quantity* sum = MutableResource(outer, resource.name)) {
      *sum = *sum + resource.capacity;
    } else {
      outer.resources.push_back(resource);
    }
  }
  const CpuSet cpus = CpuIdsOf(hidden);
  if (cpus.Empty()) return;
  if (has_cpus && !had_cpus) {
    outer.attributes[kCpuIds] = cpus.ToString();  // replaces those that were only near to it
  } else if (has_cpus || !had_cpus || IsOfType(hidden, kCore)) {
    outer.attributes[kCpuIds] = CpuIdsOf(outer).Union(cpus).ToString();
  }
}

// The treatment of each zone.
enum class Fate { kShown, kHidden, kLeftOut };

std::vector<Fate> Fates(const Show& show, const std::vector<Zone>& zones) {
  std::vector<Fate> fates;
  uint32_t cores = 0;
  for (const Zone& zone : zones) {
    const bool too_many = IsOfType(zone, kCore) && ++cores > show.cores.value_or(UINT32_MAX);
    const bool hidden = std::any_of(show.hidden_types.begin(), show.hidden_types.end(),
                                    [&](const auto& type) { return IsOfType(zone, type); });
    fates.push_back(too_many ? Fate::kLeftOut : hidden ? Fate::kHidden : Fate::kShown);
  }
  return fates;
}

absl::StatusOr<std::vector<Zone>> OnlyShown(const std::vector<Fate>& fates, const ZoneTree& tree,
                                            std::vector<Zone> zones) {
  const auto shown_outer = [&](size_t i) {
    auto outer = tree.Parent(i);
    while (outer && fates[*outer] != Fate::kShown) outer = tree.Parent(*outer);
    return outer;
  };
  for (size_t i = 0; i < zones.size(); ++i) {
    const auto outer = shown_outer(i);
    if (tree.Parent(i)) zones[i].parent = outer ? zones[*outer].name : kRootName;
    if (fates[i] != Fate::kHidden) continue;
    if (outer) {
      MoveInto(zones[i], zones[*outer]);
    } else if (!zones[i].resources.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat("show.hide: zone \"", zones[i].name, "\" is a ", zones[i].type,
                       ", and no shown zone around it could take its resources"));
    }
  }
  std::vector<Zone> shown;
  for (size_t i = 0; i < zones.size(); ++i) {
    if (fates[i] == Fate::kShown) shown.push_back(std::move(zones[i]));
  }
  return shown;
}

void DropCostsToNobody(std::vector<Zone>& zones) {
  std::set<std::string> names;
  for (const Zone& zone : zones) names.insert(zone.name);
  for (Zone& zone : zones) {
    std::erase_if(zone.costs, [&](const Cost& cost) { return !names.contains(cost.name); });
  }
}

absl::Status AddAttributes(const Show& show, std::vector<Zone>& zones) {
  for (const auto& entry : show.attributes) {
    const std::string& name = entry.first;
    const auto zone = std::find_if(zones.begin(), zones.end(),
                                   [&](const Zone& each) { return each.name == name; });
    if (zone == zones.end()) {
      return absl::FailedPreconditionError(
          absl::StrCat("show.attributes: no zone \"", name, "\" is shown"));
    }
    for (const auto& [attribute, value] : entry.second) zone->attributes[attribute] = value;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Topology> Shown(const Show& show, const ZoneTree& tree) {
  std::vector<Zone> zones = tree.topology().zones;
  for (Zone& zone : zones) {
    if (show.hide_siblings && IsOfType(zone, kCore)) KeepFirstCpu(zone);
  }
  const std::vector<Fate> fates = Fates(show, zones);
  PLIMSOLL_ASSIGN_OR_RETURN(zones, OnlyShown(fates, tree, std::move(zones)));
  DropCostsToNobody(zones);
  PLIMSOLL_RETURN_IF_ERROR(AddAttributes(show, zones));
  return Topology{std::move(zones)};
}

}  // namespace plimsoll::topology
