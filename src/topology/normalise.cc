#include "topology/normalise.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {
namespace {

constexpr const char* kIds[] = {kMachineId, kBootId, kSystemUuid};

void SpellType(Zone& zone) {
  if (IsOfType(zone, kMachine)) zone.type = kMachine;
  for (const char* type : {kPackage, kNumaNode, kCacheGroup, kCore}) {
    if (IsOfType(zone, type)) zone.type = type;
  }
}

void AddId(Zone& zone) {
  if (!IsOfType(zone, kNumaNode) && !IsOfType(zone, kPackage)) return;
  const auto number = NumberOf(zone);
  if (number) zone.attributes.emplace(kId, absl::StrCat(*number));
}

// The zones, each after the one around it, otherwise in their own order.
std::vector<size_t> OutermostFirst(const ZoneTree& tree) {
  std::vector<size_t> order;
  std::vector<size_t> waiting(tree.Tops().rbegin(), tree.Tops().rend());
  while (!waiting.empty()) {
    const size_t at = waiting.back();
    waiting.pop_back();
    order.push_back(at);
    const std::vector<size_t>& children = tree.Children(at);
    waiting.insert(waiting.end(), children.rbegin(), children.rend());
  }
  return order;
}

bool IsOutermostFirst(const ZoneTree& tree) {
  for (size_t i = 0; i < tree.topology().zones.size(); ++i) {
    if (tree.Parent(i).value_or(0) > i) return false;
  }
  return true;
}

// The outermost zone comes first.
Topology WithOneRoot(const ZoneTree& tree) {
  const bool has_root = tree.HasRoot();
  Topology made;
  if (!has_root) made.zones.push_back({.name = kRootName, .type = kMachine});
  if (IsOutermostFirst(tree) && (!has_root || tree.Tops()[0] == 0)) {
    made.zones.insert(made.zones.end(), tree.topology().zones.begin(), tree.topology().zones.end());
  } else {
    for (const size_t index : OutermostFirst(tree)) made.zones.push_back(tree.zone(index));
  }
  const std::string root = made.zones[0].name;
  for (Zone& zone : made.zones) {
    if (zone.parent.empty()) zone.parent = root;
  }
  made.zones[0].parent.clear();
  return made;
}

void TakeIds(const std::map<std::string, std::string>& ids, Topology& topology) {
  for (const char* id : kIds) {
    for (Zone& zone : topology.zones) zone.attributes.erase(id);
    const auto told = ids.find(id);
    if (told != ids.end()) topology.zones[0].attributes[id] = told->second;
  }
}

}  // namespace

absl::StatusOr<Topology> Normalise(Topology topology,
                                   const std::map<std::string, std::string>* ids) {
  PLIMSOLL_ASSIGN_OR_RETURN(const ZoneTree tree, ZoneTree::Build(std::move(topology)));
  Topology made = WithOneRoot(tree);
  for (Zone& zone : made.zones) {
    SpellType(zone);
    AddId(zone);
  }
  if (ids != nullptr) TakeIds(*ids, made);
  return made;
}

}  // namespace plimsoll::topology
