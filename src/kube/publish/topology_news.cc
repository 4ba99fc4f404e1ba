#include "kube/publish/topology_news.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kube/publish/short_text.h"
#include "resources/cpu_set.h"

namespace plimsoll::kube {
namespace {

using topology::Topology;
using topology::Zone;

constexpr size_t kMostNames = 10;
constexpr size_t kLongestList = 200;

resources::CpuSet CpusIn(const Topology& topology) {
  resources::CpuSet cpus;
  for (const Zone& zone : topology.zones) {
    const auto ids = zone.attributes.find(topology::kCpuIds);
    if (ids == zone.attributes.end()) continue;
    if (const auto own = resources::CpuSet::Parse(ids->second); own.ok()) cpus = cpus.Union(*own);
  }
  return cpus;
}

// "memory of numa-0" to its amount; without CPUs, which are told by their numbers.
std::map<std::string, resources::Quantity> AmountsIn(const Topology& topology) {
  std::map<std::string, resources::Quantity> amounts;
  for (const Zone& zone : topology.zones) {
    for (const topology::ZoneResource& each : zone.resources) {
      if (each.name == topology::kCpu) continue;
      amounts[absl::StrCat(each.name, " of ", zone.name)] = each.capacity;
    }
  }
  return amounts;
}

// In their order.
std::vector<std::string> ZonesOnlyIn(const Topology& topology, const Topology& other) {
  std::set<std::string> others;
  for (const Zone& zone : other.zones) others.insert(zone.name);
  std::vector<std::string> names;
  for (const Zone& zone : topology.zones) {
    if (!topology::IsOfType(zone, topology::kCore) && !others.contains(zone.name)) {
      names.push_back(zone.name);
    }
  }
  return names;
}

void TellCpus(const resources::CpuSet& cpus, absl::string_view what,
              std::vector<std::string>& news) {
  if (cpus.Empty()) return;
  news.push_back(absl::StrCat(cpus.Size() == 1 ? "CPU " : "CPUs ",
                              ShortText(cpus.ToString(), kLongestList), " ", what));
}

void TellZones(const std::vector<std::string>& names, absl::string_view what,
               std::vector<std::string>& news) {
  if (names.empty()) return;
  std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<long>(std::min(names.size(), kMostNames)));
  if (shown.size() < names.size()) {
    shown.push_back(absl::StrCat("and ", names.size() - shown.size(), " more"));
  }
  news.push_back(
      absl::StrCat(names.size() == 1 ? "zone " : "zones ", absl::StrJoin(shown, ", "), " ", what));
}

}  // namespace

std::string TopologyNews(const Topology& before, const Topology& after) {
  std::vector<std::string> news;
  const resources::CpuSet old_cpus = CpusIn(before);
  const resources::CpuSet new_cpus = CpusIn(after);
  TellCpus(new_cpus.Difference(old_cpus), "came", news);
  TellCpus(old_cpus.Difference(new_cpus), "went", news);
  TellZones(ZonesOnlyIn(after, before), "came", news);
  TellZones(ZonesOnlyIn(before, after), "went", news);
  const auto old_amounts = AmountsIn(before);
  const auto new_amounts = AmountsIn(after);
  for (const auto& [what, amount] : new_amounts) {
    const auto old = old_amounts.find(what);
    if (old == old_amounts.end() || old->second == amount) continue;
    news.push_back(
        absl::StrCat(what, ": ", amount.Canonical(), " instead of ", old->second.Canonical()));
  }
  return FirstFew(news, kMostNames);
}

}  // namespace plimsoll::kube
