#include "topology/make_zones.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "resources/cpu_set.h"
#include "resources/quantity.h"
#include "topology/machine/core_kinds.h"
#include "topology/zones/cache_level.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using resources::Quantity;

// The one with the lower rank of two zones with the same CPUs is outside.
enum Rank { kPackageRank, kNodeRank, kCacheRank, kCoreRank };

struct Box {
  Rank rank;
  std::vector<uint32_t> order;  // position among its siblings of the same rank
  CpuSet cpus;
  Zone zone;
  std::vector<const Box*> children;
};

Quantity Bytes(uint64_t bytes) {
  return Quantity::FromInt(static_cast<int64_t>(bytes), Quantity::Format::kBinarySi);
}

uint32_t First(const CpuSet& cpus) {
  return cpus.ToVector().front();
}

Box PackageBox(const Package& package) {
  const uint32_t id = package.id.value_or(First(package.cpus));
  return {.rank = kPackageRank,
          .order = {id},
          .cpus = package.cpus,
          .zone = {.name = absl::StrCat(package.id ? "package-" : "package-cpu", id),
                   .type = kPackage,
                   .attributes = package.attributes}};
}

Box NodeBox(const NumaNode& node) {
  Zone zone = {.name = NumaNodeName(node.id), .type = kNumaNode, .attributes = node.attributes};
  for (const auto& [other, distance] : node.distances) {
    zone.costs.push_back({NumaNodeName(other), distance});
  }
  zone.resources.push_back({kMemory, Bytes(node.memory_bytes)});
  for (const auto& [size, count] : node.hugepages) {
    zone.resources.push_back({HugepagesName(size), Bytes(size * count)});
  }
  return {.rank = kNodeRank, .order = {node.id}, .cpus = node.cpus, .zone = std::move(zone)};
}

// The largest cache that a core uses: the last before memory.
const Cache* LastLevelCache(const std::vector<Cache>& caches, const CpuSet& core) {
  const Cache* last = nullptr;
  for (const Cache& cache : caches) {
    if (!core.IsSubsetOf(cache.cpus)) continue;
    if (last == nullptr ||
        std::pair(cache.cpus.Size(), cache.level) > std::pair(last->cpus.Size(), last->level)) {
      last = &cache;
    }
  }
  return last;
}

bool CoversItsNode(const CpuSet& cache, const std::vector<NumaNode>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const NumaNode& node) {
    return !node.cpus.Empty() && node.cpus.IsSubsetOf(cache);
  });
}

void DescribeCache(const Cache& cache, Zone& zone) {
  zone.attributes[kCacheLevel] = absl::StrCat(cache.level);
  if (cache.size_bytes != 0) zone.attributes["cache-size"] = Bytes(cache.size_bytes).text();
}

// Describes a cache that covers a NUMA node at the outermost of the packages and nodes in `boxes`
// that it covers.
void DescribeCovered(const Cache& cache, std::vector<Box>& boxes) {
  const auto is_covered = [&](const Box& box) {
    return !box.cpus.Empty() && box.cpus.IsSubsetOf(cache.cpus);
  };
  for (Box& box : boxes) {
    const bool is_inner = std::any_of(boxes.begin(), boxes.end(), [&](const Box& outer) {
      return is_covered(outer) && box.cpus.IsSubsetOf(outer.cpus) &&
             (box.cpus != outer.cpus || outer.rank < box.rank);
    });
    if (is_covered(box) && !is_inner) DescribeCache(cache, box.zone);
  }
}

// Last-level caches, with the number of their cores.
std::map<const Cache*, int> CoresByCache(const Machine& machine) {
  std::map<const Cache*, int> cores;
  for (const Core& core : machine.cores) {
    if (const Cache* cache = LastLevelCache(machine.caches, core.cpus)) ++cores[cache];
  }
  return cores;
}

void AddCacheGroups(const Machine& machine, std::vector<Box>& boxes) {
  std::vector<Box> groups;
  for (const auto& [cache, count] : CoresByCache(machine)) {
    if (CoversItsNode(cache->cpus, machine.nodes)) {
      DescribeCovered(*cache, boxes);
      continue;
    }
    if (count < 2) continue;
    const uint32_t id = cache->id.value_or(First(cache->cpus));
    Zone zone = {.name = absl::StrCat("cache-", cache->level, cache->id ? "-" : "-cpu", id),
                 .type = kCacheGroup};
    DescribeCache(*cache, zone);
    groups.push_back({.rank = kCacheRank,
                      .order = {cache->level, id},
                      .cpus = cache->cpus,
                      .zone = std::move(zone)});
  }
  std::move(groups.begin(), groups.end(), std::back_inserter(boxes));
}

void DescribeCore(const Machine& machine, const std::vector<std::optional<bool>>& fast,
                  const CpuSet& cpus, Zone& zone) {
  zone.attributes[kCpuIds] = cpus.ToString();
  for (size_t i = 0; i < machine.core_kinds.size(); ++i) {
    const CoreKind& kind = machine.core_kinds[i];
    if (!cpus.IsSubsetOf(kind.cpus)) continue;
    if (fast[i]) zone.attributes["core-type"] = *fast[i] ? "performance" : "efficiency";
    if (kind.base_freq_mhz)
      zone.attributes["base-frequency-mhz"] = absl::StrCat(*kind.base_freq_mhz);
    if (kind.max_freq_mhz) zone.attributes["max-frequency-mhz"] = absl::StrCat(*kind.max_freq_mhz);
  }
}

// Describes a last-level cache that a core has for itself, on processors with one core in each
// complex. Levels 1 and 2 are mostly private, so they say nothing.
void DescribeOwnCache(const Machine& machine, const std::map<const Cache*, int>& cores,
                      const CpuSet& cpus, Zone& zone) {
  const Cache* const cache = LastLevelCache(machine.caches, cpus);
  if (cache == nullptr || cache->level < kUncoreLevel || cores.at(cache) != 1) return;
  if (!CoversItsNode(cache->cpus, machine.nodes)) DescribeCache(*cache, zone);
}

// The number of a core's package, of its die if the package has several, and its own: unique unless
// the machine's files are nonsense. Empty: it has no number.
std::vector<uint32_t> CoreNumber(const Machine& machine, const Core& core) {
  if (!core.id) return {};
  std::vector<uint32_t> number;
  for (const Package& package : machine.packages) {
    if (!core.cpus.IsSubsetOf(package.cpus)) continue;
    number.push_back(package.id.value_or(First(package.cpus)));
    const bool several_dies =
        std::any_of(machine.cores.begin(), machine.cores.end(), [&](const Core& other) {
          return other.die != core.die && other.cpus.IsSubsetOf(package.cpus);
        });
    if (several_dies && core.die) number.push_back(*core.die);
    break;
  }
  number.push_back(*core.id);
  return number;
}

void AddCores(const Machine& machine, std::vector<Box>& boxes) {
  const std::vector<std::optional<bool>> fast = WhichAreFast(machine.core_kinds);
  const std::map<const Cache*, int> cores_by_cache = CoresByCache(machine);
  std::set<std::vector<uint32_t>> seen;
  for (const Core& core : machine.cores) {
    std::vector<uint32_t> number = CoreNumber(machine, core);
    Zone zone = {.name = "core", .type = kCore};
    if (number.empty() || !seen.insert(number).second) {
      number = {First(core.cpus)};
      zone.name = "core-cpu";
    }
    for (const uint32_t part : number) absl::StrAppend(&zone.name, "-", part);
    DescribeCore(machine, fast, core.cpus, zone);
    DescribeOwnCache(machine, cores_by_cache, core.cpus, zone);
    zone.resources.push_back({kCpu, Quantity::FromInt(static_cast<int64_t>(core.cpus.Size()))});
    boxes.push_back({.rank = kCoreRank,
                     .order = std::move(number),
                     .cpus = core.cpus,
                     .zone = std::move(zone)});
  }
}

// Makes names unique: nonsense files may give a number twice.
void TellApart(std::vector<Box>& boxes) {
  std::set<std::string> names;
  for (Box& box : boxes) {
    if (names.insert(box.zone.name).second || box.cpus.Empty()) continue;
    absl::StrAppend(&box.zone.name, "-cpu", First(box.cpus));
    names.insert(box.zone.name);
  }
}

// Puts each box into the smallest one around it; those without one into `root`. A core has no node
// in it, though fake nodes may have one CPU of a core each.
void Nest(std::vector<Box>& boxes, std::vector<const Box*>& root) {
  // Sorts inner boxes before outer ones.
  std::stable_sort(boxes.begin(), boxes.end(), [](const Box& a, const Box& b) {
    return std::pair(a.cpus.Size(), -a.rank) < std::pair(b.cpus.Size(), -b.rank);
  });
  for (size_t i = 0; i < boxes.size(); ++i) {
    std::vector<const Box*>* siblings = &root;
    for (size_t outer = i + 1; outer < boxes.size() && !boxes[i].cpus.Empty(); ++outer) {
      if (boxes[outer].rank == kCoreRank && boxes[i].rank != kCoreRank) continue;
      if (!boxes[i].cpus.IsSubsetOf(boxes[outer].cpus)) continue;
      boxes[i].zone.parent = boxes[outer].zone.name;
      siblings = &boxes[outer].children;
      break;
    }
    if (siblings == &root) boxes[i].zone.parent = kRootName;
    siblings->push_back(&boxes[i]);
  }
}

CpuSet CoresIn(const Box& box) {
  CpuSet cpus;
  for (const Box* child : box.children) {
    cpus = cpus.Union(child->rank == kCoreRank ? child->cpus : CoresIn(*child));
  }
  return cpus;
}

// Names the CPUs of packages and NUMA nodes that are not around all their cores, because they cross
// another zone or have a part of a core: clients couldn't find those CPUs' node otherwise.
void NameCpusElsewhere(std::vector<Box>& boxes) {
  for (Box& box : boxes) {
    const bool may_cross = box.rank == kPackageRank || box.rank == kNodeRank;
    if (may_cross && CoresIn(box) != box.cpus) box.zone.attributes[kCpuIds] = box.cpus.ToString();
  }
}

void Write(std::vector<const Box*> siblings, Topology& topology) {
  std::sort(siblings.begin(), siblings.end(), [](const Box* a, const Box* b) {
    return std::tie(a->rank, a->order, a->zone.name) < std::tie(b->rank, b->order, b->zone.name);
  });
  for (const Box* box : siblings) {
    topology.zones.push_back(box->zone);
    Write(box->children, topology);
  }
}

}  // namespace

std::string NumaNodeName(uint32_t id) {
  return absl::StrCat("numa-", id);
}

std::string HugepagesName(uint64_t page_bytes) {
  return absl::StrCat(kHugepagesPrefix, Bytes(page_bytes).text());
}

Topology MakeZones(const Machine& machine) {
  std::vector<Box> boxes;
  for (const Package& package : machine.packages) boxes.push_back(PackageBox(package));
  for (const NumaNode& node : machine.nodes) boxes.push_back(NodeBox(node));
  AddCacheGroups(machine, boxes);
  AddCores(machine, boxes);
  TellApart(boxes);
  std::vector<const Box*> top;
  Nest(boxes, top);
  NameCpusElsewhere(boxes);

  Topology topology;
  Zone root = {.name = kRootName, .type = kMachine, .attributes = machine.attributes};
  if (machine.swap_bytes) root.resources.push_back({kSwap, Bytes(*machine.swap_bytes)});
  topology.zones.push_back(std::move(root));
  Write(std::move(top), topology);
  return topology;
}

}  // namespace plimsoll::topology
