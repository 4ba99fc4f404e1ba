#include "topology/draw.h"

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "topology/zone_tree.h"

namespace plimsoll::topology {
namespace {

constexpr size_t kLongestValue = 40;

std::string Describe(const Zone& zone) {
  std::string line = absl::StrCat(zone.name, " ", zone.type);
  for (const ZoneResource& resource : zone.resources) {
    absl::StrAppend(&line, "  ", resource.name, " ", resource.capacity.text());
  }
  for (const auto& [name, value] : zone.attributes) {
    if (name == kId && absl::EndsWith(zone.name, value)) continue;  // its name says so
    const bool long_one = value.size() > kLongestValue;
    absl::StrAppend(&line, "  ", name, "=", value.substr(0, kLongestValue), long_one ? "…" : "");
  }
  return line;
}

std::string Describe(const Workload& workload, absl::string_view cpus) {
  return absl::StrCat(workload.name, "  cpus ", cpus,
                      workload.memory.empty() ? "" : absl::StrCat("  memory ", workload.memory));
}

// What of a topology is drawn below what.
struct Below {
  // Zones by the name of their parent; those of a parent that is no zone by the root's name.
  std::map<std::string, std::vector<const Zone*>> zones;
  // By the smallest zone that has all their CPUs; else by the root's name.
  std::map<std::string, std::vector<const Workload*>> workloads;
};

std::string SmallestZone(const ZoneTree& tree, const resources::CpuSet& cpus) {
  std::string smallest = kRootName;
  size_t size = SIZE_MAX;
  for (size_t i = 0; i < tree.topology().zones.size(); ++i) {
    const resources::CpuSet own = tree.Cpus(i);
    // Of zones of the same CPUs the inner one, which comes later.
    if (cpus.IsSubsetOf(own) && own.Size() <= size) {
      smallest = tree.zone(i).name;
      size = own.Size();
    }
  }
  return smallest;
}

void Append(const Below& below, const std::string& parent, const std::string& indent,
            std::string& text) {
  const auto workloads = below.workloads.find(parent);
  const auto zones = below.zones.find(parent);
  if (workloads != below.workloads.end()) {
    for (const Workload* workload : workloads->second) {
      absl::StrAppend(&text, indent, zones == below.zones.end() ? "   " : "│  ", "● ",
                      Describe(*workload, workload->cpus.ToString()), "\n");
    }
  }
  if (zones == below.zones.end()) return;
  for (const Zone* zone : zones->second) {
    const bool last = zone == zones->second.back();
    absl::StrAppend(&text, indent, last ? "└─ " : "├─ ", Describe(*zone), "\n");
    if (zone->name != parent) Append(below, zone->name, indent + (last ? "   " : "│  "), text);
  }
}

}  // namespace

std::string TopologyText(const Topology& topology, const std::vector<Workload>& workloads) {
  std::string text;
  std::string end;
  Below below;
  for (const Zone& zone : topology.zones) {
    if (zone.name == kRootName) {
      absl::StrAppend(&text, Describe(zone), "\n");
    } else {
      below.zones[zone.parent.empty() ? kRootName : zone.parent].push_back(&zone);
    }
  }
  const auto tree = ZoneTree::Build(topology);
  for (const Workload& workload : workloads) {
    if (!tree.ok() || tree->Cpus().IsSubsetOf(workload.cpus)) {
      absl::StrAppend(&end, "● ", Describe(workload, "all"), "\n");
    } else {
      below.workloads[SmallestZone(*tree, workload.cpus)].push_back(&workload);
    }
  }
  Append(below, kRootName, "", text);
  return text + end;
}

}  // namespace plimsoll::topology
