#include "agent/managers/nearest_cpus.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace plimsoll::agent {
namespace {

class Neighbourhood {
 public:
  void Add(const topology::CpuPlace& place) {
    cores_.insert(place.core);
    caches_.insert(place.cache_group);
    nodes_.insert(place.numa_node);
    packages_.insert(place.package);
  }
  // 0 is nearest.
  int DistanceTo(const topology::CpuPlace& place) const {
    if (cores_.contains(place.core)) return 0;
    if (caches_.contains(place.cache_group)) return 1;
    if (nodes_.contains(place.numa_node)) return 2;
    return packages_.contains(place.package) ? 3 : 4;
  }

 private:
  std::set<uint32_t> cores_, caches_, nodes_, packages_;
};

struct Candidate {
  uint32_t cpu = 0;
  topology::CpuPlace place;
};

}  // namespace

resources::CpuSet NearestCpus(const topology::MachineMaps& maps, const resources::CpuSet& near,
                              const resources::CpuSet& pool, int64_t count) {
  Neighbourhood neighbourhood;
  for (const uint32_t cpu : near.ToVector()) {
    const auto place = maps.cpus.find(cpu);
    if (place != maps.cpus.end()) neighbourhood.Add(place->second);
  }
  std::vector<Candidate> candidates;
  std::map<uint32_t, int> free_in_core;
  for (const uint32_t cpu : pool.ToVector()) {
    const auto place = maps.cpus.find(cpu);
    if (place == maps.cpus.end()) continue;
    candidates.push_back({cpu, place->second});
    ++free_in_core[place->second.core];
  }
  resources::CpuSet chosen;
  for (; count > 0 && !candidates.empty(); --count) {
    const auto rank = [&](const Candidate& each) {
      const int free = free_in_core[each.place.core];
      // Whole cores first, and no core is broken for less.
      return std::make_tuple(neighbourhood.DistanceTo(each.place), free <= count ? -free : free,
                             each.cpu);
    };
    const auto best = std::min_element(
        candidates.begin(), candidates.end(),
        [&](const Candidate& one, const Candidate& other) { return rank(one) < rank(other); });
    chosen.Add(best->cpu);
    neighbourhood.Add(best->place);
    --free_in_core[best->place.core];
    candidates.erase(best);
  }
  return chosen;
}

}  // namespace plimsoll::agent
