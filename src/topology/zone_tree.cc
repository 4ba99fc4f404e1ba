#include "topology/zone_tree.h"

#include <algorithm>
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

// What a zone's own attribute says.
absl::StatusOr<CpuSet> CpuIds(const Zone& zone) {
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
  PLIMSOLL_RETURN_IF_ERROR(tree.Walk());
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

absl::Status ZoneTree::Walk() {
  size_t place = 0;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (!shapes_[i].parent) PLIMSOLL_RETURN_IF_ERROR(WalkFrom(i, place));
  }
  if (place == shapes_.size()) return absl::OkStatus();
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (shapes_[i].end == 0) return Bad(zone(i), "is within itself: its parents go round");
  }
  return absl::OkStatus();
}

absl::Status ZoneTree::WalkFrom(size_t top, size_t& place) {
  std::vector<std::pair<size_t, size_t>> way;  // a zone, and how many of its children are done
  const auto enter = [&](size_t zone) {
    shapes_[zone].first = place++;
    way.emplace_back(zone, 0);
  };
  for (enter(top); !way.empty();) {
    if (way.size() > kMaxDepth) {
      return Bad(zone(way.back().first),
                 absl::StrCat("is within more than ", kMaxDepth - 1, " others"));
    }
    auto& [at, done] = way.back();
    if (done < shapes_[at].children.size()) {
      enter(shapes_[at].children[done++]);
    } else {
      shapes_[at].end = place;
      way.pop_back();
    }
  }
  return absl::OkStatus();
}

bool ZoneTree::IsWithin(size_t index, size_t ancestor) const {
  return shapes_[ancestor].first <= shapes_[index].first &&
         shapes_[index].first < shapes_[ancestor].end;
}

absl::Status ZoneTree::GatherCpus() {
  const size_t none = topology_.zones.size();
  std::vector<size_t> innermost;  // zone by CPU
  for (size_t i = 0; i < topology_.zones.size(); ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(const CpuSet own, CpuIds(topology_.zones[i]));
    for (const uint32_t cpu : own.ToVector()) {
      if (cpu >= innermost.size()) innermost.resize(cpu + 1, none);
      size_t& inner = innermost[cpu];
      if (inner != none && !IsWithin(inner, i) && !IsWithin(i, inner)) {
        return Bad(topology_.zones[i],
                   absl::StrCat("has CPU ", cpu, ", which zone \"", zone(inner).name,
                                "\" has too, and neither is within the other"));
      }
      if (inner == none || IsWithin(i, inner)) inner = i;
    }
  }
  for (uint32_t cpu = 0; cpu < innermost.size(); ++cpu) {
    if (innermost[cpu] == none) continue;
    cpus_.Add(cpu);
    cpus_at_.emplace_back(shapes_[innermost[cpu]].first, cpu);
  }
  std::sort(cpus_at_.begin(), cpus_at_.end());
  return absl::OkStatus();
}

CpuSet ZoneTree::CpusAt(size_t first, size_t end) const {
  CpuSet cpus;
  for (auto at = std::lower_bound(cpus_at_.begin(), cpus_at_.end(), std::pair(first, uint32_t{0}));
       at != cpus_at_.end() && at->first < end; ++at) {
    cpus.Add(at->second);
  }
  return cpus;
}

CpuSet ZoneTree::Cpus(size_t index) const {
  return CpusAt(shapes_[index].first, shapes_[index].end);
}

CpuSet ZoneTree::OwnCpus(size_t index) const {
  return CpusAt(shapes_[index].first, shapes_[index].first + 1);
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
    PLIMSOLL_ASSIGN_OR_RETURN(const CpuSet own, CpuIds(tree.zone(i)));
    if (own.IsSubsetOf(machine)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "zone \"", tree.zone(i).name, "\" has CPUs ", own.Difference(machine).ToString(),
        ", which this machine does not have or which are offline; it has ", machine.ToString()));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::topology
