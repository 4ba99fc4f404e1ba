#include "agent/cpu_manager/cpu_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace plimsoll::agent {

using topology::CpuPlace;
using topology::MachineMaps;

CpuLayout::CpuLayout(const MachineMaps& maps) {
  std::vector<uint64_t> cores, nodes, packages;
  for (const auto& [cpu, place] : maps.cpus) {
    cpus_.Add(cpu);
    numbers_.push_back(cpu);
    cores.push_back(place.core);
    nodes.push_back(place.numa_node);
    packages.push_back(place.package);
  }
  Group(CpuLevel::kCore, cores);
  Group(CpuLevel::kPackage, packages);
  for (const uint64_t node : Group(CpuLevel::kNode, nodes)) {
    node_numbers_.push_back(static_cast<uint32_t>(node));
  }
  Group(CpuLevel::kCache, CacheKeys(maps));
}

std::optional<uint32_t> CpuLayout::IndexOf(uint32_t number) const {
  const auto found = std::lower_bound(numbers_.begin(), numbers_.end(), number);
  if (found == numbers_.end() || *found != number) return std::nullopt;
  return static_cast<uint32_t>(found - numbers_.begin());
}

std::vector<uint64_t> CpuLayout::Group(CpuLevel level, const std::vector<uint64_t>& keys) {
  std::vector<uint64_t> groups = keys;
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  Groups& result = levels_[static_cast<size_t>(level)];
  result.members.resize(groups.size());
  for (uint32_t cpu = 0; cpu < keys.size(); ++cpu) {
    const auto group = static_cast<uint32_t>(
        std::lower_bound(groups.begin(), groups.end(), keys[cpu]) - groups.begin());
    result.of.push_back(group);
    result.members[group].push_back(cpu);
  }
  return groups;
}

std::vector<uint64_t> CpuLayout::CacheKeys(const MachineMaps& maps) const {
  constexpr uint64_t kIsCache = uint64_t{1} << 63;  // keeps both kinds of key apart
  std::map<uint32_t, size_t> cache_sizes;
  std::vector<std::set<uint32_t>> node_cores(GroupCount(CpuLevel::kNode));
  for (uint32_t cpu = 0; cpu < cpu_count(); ++cpu) {
    ++cache_sizes[maps.cpus.at(numbers_[cpu]).cache_group];
    node_cores[GroupOf(CpuLevel::kNode, cpu)].insert(GroupOf(CpuLevel::kCore, cpu));
  }
  std::vector<uint64_t> keys;
  for (uint32_t cpu = 0; cpu < cpu_count(); ++cpu) {
    const CpuPlace& place = maps.cpus.at(numbers_[cpu]);
    // cAdvisor multiplies the node's cores by the threads of the one that it looks at.
    const size_t node_size = node_cores[GroupOf(CpuLevel::kNode, cpu)].size() *
                             Members(CpuLevel::kCore, GroupOf(CpuLevel::kCore, cpu)).size();
    const bool is_all = cache_sizes[place.cache_group] == node_size;
    const auto first = maps.cpus.find(place.cache_group);
    const uint64_t package = first == maps.cpus.end() ? place.package : first->second.package;
    keys.push_back(is_all ? place.package
                          : kIsCache | package * resources::CpuSet::kMaxCpus | place.cache_group);
  }
  return keys;
}

}  // namespace plimsoll::agent
