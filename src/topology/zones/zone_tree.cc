#include "topology/zones/zone_tree.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;

// Nobody needs more than kMaxFaults.
void Add(std::vector<std::string>& faults, std::string what) {
  if (faults.size() < ZoneTree::kMaxFaults) faults.push_back(std::move(what));
}
void AddBad(std::vector<std::string>& faults, const Zone& zone, absl::string_view what) {
  Add(faults, absl::StrCat("zone \"", absl::Utf8SafeCHexEscape(zone.name), "\" ", what));
}

// Names are printed line by line, in tables and logs.
void CheckText(const Zone& zone, absl::string_view what, absl::string_view text,
               std::vector<std::string>& faults) {
  const bool has_control = std::any_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c));
  });
  if (!has_control) return;
  AddBad(faults, zone,
         absl::StrCat("has control characters in ", what, " \"", absl::Utf8SafeCHexEscape(text),
                      "\"; leave them out"));
}

void CheckTexts(const Topology& topology, std::vector<std::string>& faults) {
  for (const Zone& zone : topology.zones) {
    CheckText(zone, "its name", zone.name, faults);
    CheckText(zone, "its type", zone.type, faults);
    for (const ZoneResource& resource : zone.resources) {
      CheckText(zone, "the name of resource", resource.name, faults);
    }
    for (const auto& [name, value] : zone.attributes) {
      CheckText(zone, "the name of attribute", name, faults);
    }
  }
}

// Amounts with a binary suffix are cut to Kubernetes' most when they are read. No other amount with
// such a suffix is as large.
bool IsAbove(const resources::Quantity& amount, const resources::Quantity& most) {
  return amount > most ||
         (amount == most && amount.format() == resources::Quantity::Format::kBinarySi);
}

// A sum that is too large already has had its fault.
void AddToSum(const Zone& zone, const ZoneResource& resource, const resources::Quantity& most,
              resources::Quantity& sum, std::vector<std::string>& faults) {
  if (sum > most) return;
  sum = sum + resource.capacity;
  if (sum <= most) return;
  AddBad(faults, zone,
         absl::StrCat("brings the node's capacity of resource \"", resource.name, "\" to ",
                      sum.Canonical(), "; at most 2^63-1 is possible"));
}

// The CPUs of a zone's own attribute; empty, with a fault, if that is no list.
CpuSet CpuIds(const Zone& zone, std::vector<std::string>& faults) {
  const auto ids = zone.attributes.find(kCpuIds);
  if (ids == zone.attributes.end()) return CpuSet();
  auto cpus = CpuSet::Parse(ids->second);
  if (cpus.ok()) return *std::move(cpus);
  AddBad(faults, zone, absl::StrCat("has ", kCpuIds, ": ", cpus.status().message()));
  return CpuSet();
}

// A core has its CPUs, whatever its resources.
bool HasCpus(const Zone& zone) {
  if (IsOfType(zone, kCore)) return true;
  const resources::Quantity* capacity = FindResource(zone, kCpu);
  return capacity != nullptr && !capacity->IsZero();
}

// True for levels that `show` may hide: these can't serve as the root.
bool MayBeHidden(const Zone& zone) {
  for (const char* level : {kPackage, kNumaNode, kCacheGroup, kCore}) {
    if (IsOfType(zone, level)) return true;
  }
  return false;
}

std::string TooMany(size_t zones) {
  return absl::StrCat("a topology of ", zones, " zones; at most ", ZoneTree::kMaxZones,
                      " are read, counting the root that is added if there is none");
}

}  // namespace

CpuSet CpuIdsOf(const Zone& zone) {
  const auto ids = zone.attributes.find(kCpuIds);
  return ids == zone.attributes.end() ? CpuSet() : CpuSet::Parse(ids->second).value_or(CpuSet());
}

absl::StatusOr<ZoneTree> ZoneTree::Build(Topology topology, std::vector<std::string>* faults) {
  Faults own;
  Faults& found = faults == nullptr ? own : *faults;
  found.clear();
  if (topology.zones.empty()) Add(found, "a topology without zones");
  if (topology.zones.size() > kMaxZones) {
    Add(found, TooMany(topology.zones.size()));
    return absl::InvalidArgumentError(found.front());
  }
  CheckTexts(topology, found);
  ZoneTree tree(std::move(topology));
  tree.IndexNames(found);
  tree.CheckResources(found);
  tree.LinkParents(found);
  if (tree.shapes_.size() == kMaxZones && !tree.HasRoot()) Add(found, TooMany(kMaxZones));
  if (tree.Walk(found)) tree.GatherCpus(found);
  if (!found.empty()) return absl::InvalidArgumentError(found.front());
  return tree;
}

void ZoneTree::IndexNames(Faults& faults) {
  shapes_.resize(topology_.zones.size());
  for (size_t i = 0; i < topology_.zones.size(); ++i) {
    const Zone& zone = topology_.zones[i];
    if (zone.name.empty()) {
      Add(faults, absl::StrCat("zone number ", i + 1, " has no name"));
    } else if (!by_name_.emplace(zone.name, i).second) {
      AddBad(faults, zone, "is there twice");
    }
  }
}

void ZoneTree::CheckResources(Faults& faults) const {
  const resources::Quantity most = resources::Quantity::FromInt(INT64_MAX);  // Kubernetes' most
  std::map<std::string, resources::Quantity> sums;
  for (const Zone& zone : topology_.zones) {
    std::set<std::string> names;
    for (const ZoneResource& resource : zone.resources) {
      if (resource.name.empty()) {
        AddBad(faults, zone, "has a resource without a name");
      } else if (!names.insert(resource.name).second) {
        AddBad(faults, zone, absl::StrCat("has resource \"", resource.name, "\" twice"));
      }
      if (resource.capacity.Sign() < 0) {
        AddBad(faults, zone,
               absl::StrCat("has a negative amount of resource \"", resource.name,
                            "\": ", resource.capacity.text()));
      } else if (IsAbove(resource.capacity, most)) {
        AddBad(faults, zone,
               absl::StrCat("has a capacity of resource \"", resource.name, "\" of ",
                            resource.capacity.text(), "; at most 2^63-1 is possible"));
      } else {
        AddToSum(zone, resource, most, sums[resource.name], faults);
      }
    }
  }
}

void ZoneTree::LinkParents(Faults& faults) {
  for (size_t i = 0; i < topology_.zones.size(); ++i) {
    const Zone& zone = topology_.zones[i];
    const auto parent = by_name_.find(zone.parent.empty() ? kRootName : zone.parent);
    if (parent == by_name_.end()) {
      if (zone.parent.empty() || zone.parent == kRootName) continue;
      AddBad(faults, zone,
             absl::StrCat("has parent \"", zone.parent, "\", but there is no such zone"));
    } else if (parent->second == i) {
      if (!zone.parent.empty()) AddBad(faults, zone, "is its own parent");  // or the root
    } else {
      shapes_[i].parent = parent->second;
      shapes_[parent->second].children.push_back(i);
    }
  }
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (!shapes_[i].parent) tops_.push_back(i);
  }
}

bool ZoneTree::HasRoot() const {
  return tops_.size() == 1 && (zone(tops_[0]).name == kRootName || !MayBeHidden(zone(tops_[0])));
}

bool ZoneTree::Walk(Faults& faults) {
  const size_t max_depth = HasRoot() ? kMaxDepth : kMaxDepth - 1;
  size_t place = 0;
  for (const size_t top : tops_) {
    if (!WalkFrom(top, max_depth, place, faults)) return false;
  }
  if (place == shapes_.size()) return true;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (shapes_[i].end == 0) AddBad(faults, zone(i), "is within itself: its parents form a circle");
  }
  return false;
}

bool ZoneTree::WalkFrom(size_t top, size_t max_depth, size_t& place, Faults& faults) {
  std::vector<std::pair<size_t, size_t>> way;  // a zone, and the number of its finished children
  const auto enter = [&](size_t zone) {
    shapes_[zone].first = place++;
    way.emplace_back(zone, 0);
  };
  for (enter(top); !way.empty();) {
    if (way.size() > max_depth) {
      AddBad(faults, zone(way.back().first),
             absl::StrCat("is within more than ", kMaxDepth - 1,
                          " others, counting the root that is added if there is none"));
      return false;
    }
    auto& [at, done] = way.back();
    if (done < shapes_[at].children.size()) {
      enter(shapes_[at].children[done++]);
    } else {
      shapes_[at].end = place;
      way.pop_back();
    }
  }
  return true;
}

bool ZoneTree::IsWithin(size_t index, size_t ancestor) const {
  return shapes_[ancestor].first <= shapes_[index].first &&
         shapes_[index].first < shapes_[ancestor].end;
}

std::optional<uint32_t> ZoneTree::Take(size_t index, const CpuSet& cpus,
                                       std::vector<size_t>& innermost) const {
  const size_t none = topology_.zones.size();
  std::optional<uint32_t> shared;  // reports the first only, not hundreds
  for (const uint32_t cpu : cpus.ToVector()) {
    if (cpu >= innermost.size()) innermost.resize(cpu + 1, none);
    size_t& inner = innermost[cpu];
    if (inner == none || IsWithin(index, inner)) {
      inner = index;
    } else if (!IsWithin(inner, index) && !shared) {
      shared = cpu;
    }
  }
  return shared;
}

void ZoneTree::GatherCpus(Faults& faults) {
  const size_t none = topology_.zones.size();
  const bool any_owner =
      std::any_of(topology_.zones.begin(), topology_.zones.end(),
                  [](const Zone& zone) { return HasCpus(zone) && !CpuIdsOf(zone).Empty(); });
  std::vector<size_t> innermost;  // zone by CPU
  for (size_t i = 0; i < topology_.zones.size(); ++i) {
    const Zone& zone = topology_.zones[i];
    const CpuSet ids = CpuIds(zone, faults);
    if (any_owner && !HasCpus(zone)) continue;
    const auto shared = Take(i, ids, innermost);
    if (!shared) continue;
    const Zone& other = topology_.zones[innermost[*shared]];
    // Nodes of different memory may be near to the same CPUs, and so may a package beside its node.
    if (!any_owner && (other.type != zone.type || IsOfType(zone, kNumaNode))) continue;
    AddBad(faults, zone,
           absl::StrCat("has CPU ", *shared, ", and so has zone \"", other.name,
                        "\", and neither is within the other"));
  }
  for (uint32_t cpu = 0; cpu < innermost.size(); ++cpu) {
    if (innermost[cpu] == none) continue;
    cpus_.Add(cpu);
    cpus_at_.emplace_back(shapes_[innermost[cpu]].first, cpu);
  }
  std::sort(cpus_at_.begin(), cpus_at_.end());
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
  const CpuSet within = CpusAt(shapes_[index].first, shapes_[index].end);
  return within.Union(CpuIdsOf(zone(index)).Intersection(cpus_));
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
    if (IsOfType(zone(*at), type)) return at;
  }
  return std::nullopt;
}

absl::Status CheckCpusExist(const ZoneTree& tree, const CpuSet& machine,
                            std::vector<std::string>* faults) {
  std::vector<std::string> own_faults;
  std::vector<std::string>& found = faults == nullptr ? own_faults : *faults;
  found.clear();
  for (const Zone& zone : tree.topology().zones) {
    const CpuSet own = CpuIds(zone, found);
    if (own.IsSubsetOf(machine)) continue;
    AddBad(found, zone,
           absl::StrCat("has CPUs ", own.Difference(machine).ToString(),
                        ", but they are missing or offline on this machine; it has ",
                        machine.ToString()));
  }
  return found.empty() ? absl::OkStatus() : absl::FailedPreconditionError(found.front());
}

}  // namespace plimsoll::topology
