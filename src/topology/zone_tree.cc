#include "topology/zone_tree.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

absl::Status Bad(const Zone& zone, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("zone \"", zone.name, "\" ", what));
}

absl::StatusOr<CpuSet> OwnCpus(const Zone& zone) {
  const auto ids = zone.attributes.find(kCpuIds);
  if (ids == zone.attributes.end()) return CpuSet();
  auto cpus = CpuSet::Parse(ids->second);
  if (!cpus.ok()) return Bad(zone, absl::StrCat("has ", kCpuIds, ": ", cpus.status().message()));
  return cpus;
}

}  // namespace

absl::StatusOr<ZoneTree> ZoneTree::Build(Topology topology) {
  if (topology.zones.size() > kMaxZones) {
    return absl::InvalidArgumentError(absl::StrCat("a topology of ", topology.zones.size(),
                                                   " zones; at most ", kMaxZones, " are read"));
  }
  ZoneTree tree(std::move(topology));
  PLIMSOLL_RETURN_IF_ERROR(tree.IndexNames());
  PLIMSOLL_RETURN_IF_ERROR(tree.CheckResources());
  PLIMSOLL_RETURN_IF_ERROR(tree.LinkParents());
  PLIMSOLL_RETURN_IF_ERROR(tree.CheckCycles());
  PLIMSOLL_RETURN_IF_ERROR(tree.GatherCpus());
  return tree;
}

absl::Status ZoneTree::IndexNames() {
  shapes_.resize(topology_.zones.size());
  for (size_t i = 0; i < topology_.zones.size(); ++i) {
    const Zone& zone = topology_.zones[i];
    if (zone.name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("zone number ", i + 1, " has no name"));
    }
    if (!by_name_.emplace(zone.name, i).second) return Bad(zone, "is there twice");
  }
  return absl::OkStatus();
}

absl::Status ZoneTree::CheckResources() const {
  for (const Zone& zone : topology_.zones) {
    std::set<std::string> names;
    for (const ZoneResource& resource : zone.resources) {
      if (resource.name.empty()) return Bad(zone, "has a resource without a name");
      if (!names.insert(resource.name).second) {
        return Bad(zone, absl::StrCat("has resource \"", resource.name, "\" twice"));
      }
      if (resource.capacity.Sign() < 0) {
        return Bad(zone, absl::StrCat("has less than nothing of resource \"", resource.name,
                                      "\": ", resource.capacity.text()));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ZoneTree::LinkParents() {
  for (size_t i = 0; i < topology_.zones.size(); ++i) {
    const Zone& zone = topology_.zones[i];
    const auto parent = by_name_.find(zone.parent.empty() ? kRootName : zone.parent);
    if (parent == by_name_.end()) {
      if (zone.parent.empty() || zone.parent == kRootName) continue;
      return Bad(zone, absl::StrCat("has parent \"", zone.parent, "\", which is no zone"));
    }
    if (parent->second == i) {
      if (zone.parent.empty()) continue;  // the root
      return Bad(zone, "is its own parent");
    }
    shapes_[i].parent = parent->second;
    shapes_[parent->second].children.push_back(i);
  }
  return absl::OkStatus();
}

// From every zone the way up must end. Zones of a way that is known to end are not walked again.
absl::Status ZoneTree::CheckCycles() const {
  std::vector<bool> ends(topology_.zones.size());
  for (size_t i = 0; i < topology_.zones.size(); ++i) {
    std::vector<size_t> way;
    std::vector<size_t>::size_type longest = topology_.zones.size();
    for (std::optional<size_t> at = i; at && !ends[*at]; at = shapes_[*at].parent) {
      if (way.size() >= longest)
        return Bad(topology_.zones[i], "is within itself: its parents go round");
      way.push_back(*at);
    }
    for (const size_t zone : way) ends[zone] = true;
  }
  return absl::OkStatus();
}

bool ZoneTree::IsWithin(size_t index, size_t ancestor) const {
  for (std::optional<size_t> at = index; at; at = shapes_[*at].parent) {
    if (*at == ancestor) return true;
  }
  return false;
}

absl::Status ZoneTree::GatherCpus() {
  std::map<uint32_t, size_t> innermost;
  for (size_t i = 0; i < topology_.zones.size(); ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(const CpuSet own, OwnCpus(topology_.zones[i]));
    for (const uint32_t cpu : own.ToVector()) {
      const auto [other, is_new] = innermost.emplace(cpu, i);
      if (is_new || IsWithin(other->second, i)) continue;
      if (!IsWithin(i, other->second)) {
        return Bad(topology_.zones[i],
                   absl::StrCat("has CPU ", cpu, ", which zone \"", zone(other->second).name,
                                "\" has too, and neither is within the other"));
      }
      other->second = i;
    }
    for (std::optional<size_t> at = i; at && !own.Empty(); at = shapes_[*at].parent) {
      shapes_[*at].cpus = shapes_[*at].cpus.Union(own);
    }
    cpus_ = cpus_.Union(own);
  }
  return absl::OkStatus();
}

std::optional<size_t> ZoneTree::Find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::optional<size_t> ZoneTree::Enclosing(size_t index, absl::string_view type) const {
  for (std::optional<size_t> at = index; at; at = shapes_[*at].parent) {
    if (zone(*at).type == type) return at;
  }
  return std::nullopt;
}

absl::Status CheckCpusExist(const ZoneTree& tree, const CpuSet& machine) {
  for (size_t i = 0; i < tree.topology().zones.size(); ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(const CpuSet own, OwnCpus(tree.zone(i)));
    if (own.IsSubsetOf(machine)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "zone \"", tree.zone(i).name, "\" has CPUs ", own.Difference(machine).ToString(),
        ", which this machine does not have or which are offline; it has ", machine.ToString()));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::topology
