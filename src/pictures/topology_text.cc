#include "pictures/topology.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/human_bytes.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::pictures {
namespace {

using topology::Topology;
using topology::Zone;
using topology::ZoneResource;
using topology::ZoneTree;

constexpr size_t kLongestValue = 40;
constexpr size_t kColumns = 100;

using Words = std::vector<std::string>;

Words Describe(const Zone& zone) {
  Words words = {absl::StrCat(zone.name, " ", zone.type)};
  for (const ZoneResource& resource : zone.resources) {
    words.push_back(absl::StrCat(resource.name, " ", AmountText(resource)));
  }
  for (const auto& [name, value] : zone.attributes) {
    if (name == topology::kId && absl::EndsWith(zone.name, value)) continue;  // its name says so
    const bool long_one = value.size() > kLongestValue;
    words.push_back(absl::StrCat(name, "=", value.substr(0, kLongestValue), long_one ? "…" : ""));
  }
  return words;
}

Words Describe(const Workload& workload, absl::string_view cpus) {
  Words words = {workload.name, absl::StrCat("cpus ", cpus)};
  if (!workload.memory.empty()) words.push_back(absl::StrCat("memory ", workload.memory));
  return words;
}

// The width in characters: the drawn lines have three bytes each.
size_t Columns(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

// Appends words with two spaces between them after `first`; those that don't fit go on lines after
// `next`.
void AppendLines(const std::string& first, const std::string& next, const Words& words,
                 std::string& text) {
  std::string line = first;
  bool is_empty = true;
  for (const std::string& word : words) {
    if (!is_empty && Columns(line) + 2 + Columns(word) > kColumns) {
      absl::StrAppend(&text, line, "\n");
      line = next;
      is_empty = true;
    }
    absl::StrAppend(&line, is_empty ? "" : "  ", word);
    is_empty = false;
  }
  absl::StrAppend(&text, line, "\n");
}

// The zones and workloads below each zone.
struct Below {
  // Zones by parent; those without a parent zone are under the root's name.
  std::map<std::string, std::vector<const Zone*>> zones;
  // Workloads by the smallest zone that has all their CPUs; else under the root's name.
  std::map<std::string, std::vector<const Workload*>> workloads;
};

std::string SmallestZone(const ZoneTree& tree, const resources::CpuSet& cpus) {
  std::string smallest = topology::kRootName;
  size_t size = SIZE_MAX;
  for (size_t i = 0; i < tree.topology().zones.size(); ++i) {
    const resources::CpuSet own = tree.Cpus(i);
    // The inner one of zones with the same CPUs, which comes later, is taken.
    if (cpus.IsSubsetOf(own) && own.Size() <= size) {
      smallest = tree.zone(i).name;
      size = own.Size();
    }
  }
  return smallest;
}

// The start of a zone's further lines.
std::string Further(const Below& below, const std::string& zone) {
  return below.zones.contains(zone) ? "│    " : "     ";
}

void Append(const Below& below, const std::string& parent, const std::string& indent,
            std::string& text) {
  const auto workloads = below.workloads.find(parent);
  const auto zones = below.zones.find(parent);
  if (workloads != below.workloads.end()) {
    for (const Workload* workload : workloads->second) {
      const std::string line = indent + (zones == below.zones.end() ? "   " : "│  ");
      AppendLines(line + "● ", line + "    ", Describe(*workload, workload->cpus.ToString()), text);
    }
  }
  if (zones == below.zones.end()) return;
  for (const Zone* zone : zones->second) {
    const bool last = zone == zones->second.back();
    const std::string within = indent + (last ? "   " : "│  ");
    AppendLines(indent + (last ? "└─ " : "├─ "), within + Further(below, zone->name),
                Describe(*zone), text);
    if (zone->name != parent) Append(below, zone->name, within, text);
  }
}

}  // namespace

std::string AmountText(const ZoneResource& resource) {
  const bool is_bytes = resource.name == topology::kMemory || resource.name == topology::kSwap ||
                        absl::StartsWith(resource.name, topology::kHugepagesPrefix);
  if (!is_bytes || resource.capacity.Sign() <= 0) return resource.capacity.text();
  return HumanBytes(static_cast<uint64_t>(resource.capacity.Value()));
}

std::string TopologyText(const Topology& topology, const std::vector<Workload>& workloads) {
  std::string text;
  std::string end;
  const Zone* root = nullptr;
  Below below;
  for (const Zone& zone : topology.zones) {
    if (zone.name == topology::kRootName) {
      root = &zone;
    } else {
      below.zones[zone.parent.empty() ? topology::kRootName : zone.parent].push_back(&zone);
    }
  }
  if (root != nullptr) AppendLines("", Further(below, topology::kRootName), Describe(*root), text);
  const auto tree = ZoneTree::Build(topology);
  for (const Workload& workload : workloads) {
    if (!tree.ok() || tree->Cpus().IsSubsetOf(workload.cpus)) {
      AppendLines("● ", "    ", Describe(workload, "all"), end);
    } else {
      below.workloads[SmallestZone(*tree, workload.cpus)].push_back(&workload);
    }
  }
  Append(below, topology::kRootName, "", text);
  return text + end;
}

}  // namespace plimsoll::pictures
