#include "topology/zones/maps.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "resources/quantity.h"
#include "topology/zones/cache_level.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using resources::Quantity;

absl::Status Bad(const Zone& zone, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("zone \"", absl::Utf8SafeCHexEscape(zone.name), "\" ", what));
}

void AddFault(const absl::Status& status, std::vector<std::string>& faults) {
  if (status.ok() || faults.size() >= ZoneTree::kMaxFaults) return;
  faults.emplace_back(status.message());
}

// The zones of one type, and each CPU's zone among them. That is the zone around the CPU's own
// zone; else, of the zones beside it that name the CPU, the one that names the fewest (then the
// lowest number, then the first); else the only one in the nearest surrounding zone that has any.
class Level {
 public:
  Level(const ZoneTree& tree, absl::string_view type) : tree_(tree), counts_(ZoneCount(tree)) {
    for (size_t i = 0; i < counts_.size(); ++i) {
      if (!IsOfType(tree.zone(i), type)) continue;
      zones_.push_back(i);
      for (std::optional<size_t> at = i; at; at = tree.Parent(*at)) {
        ++counts_[*at].first;
        counts_[*at].second = i;
      }
    }
  }
  const std::vector<size_t>& zones() const { return zones_; }
  std::optional<size_t> Of(uint32_t cpu, size_t index) const {
    if (const auto near = NearTo(cpu, index)) return near;
    return Nearest(index);
  }
  // Without the last rule, which guesses.
  std::optional<size_t> NearTo(uint32_t cpu, size_t index) const {
    if (const auto around = Around(index)) return around;
    if (!named_) named_ = Named();
    const auto zone = named_->find(cpu);
    return zone == named_->end() ? std::nullopt : std::optional(zone->second);
  }
  std::optional<size_t> Around(size_t index) const {
    for (std::optional<size_t> at = index; at; at = tree_.Parent(*at)) {
      if (std::binary_search(zones_.begin(), zones_.end(), *at)) return at;
    }
    return std::nullopt;
  }
  std::optional<size_t> Nearest(size_t index) const {
    if (const auto around = Around(index)) return around;
    for (std::optional<size_t> at = index; at; at = tree_.Parent(*at)) {
      if (counts_[*at].first == 1) return counts_[*at].second;
      if (counts_[*at].first > 1) return std::nullopt;
    }
    if (zones_.size() == 1) return zones_[0];
    return std::nullopt;
  }

 private:
  std::map<uint32_t, size_t> Named() const {
    using Order = std::tuple<size_t, uint32_t, size_t>;  // the lowest wins
    std::vector<std::pair<Order, CpuSet>> choices;
    for (const size_t zone : zones_) {
      CpuSet cpus = tree_.Cpus(zone);
      const uint32_t number =
          NumberOf(tree_.zone(zone)).value_or(std::numeric_limits<uint32_t>::max());
      choices.emplace_back(Order(cpus.Size(), number, zone), std::move(cpus));
    }
    std::sort(choices.begin(), choices.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    std::map<uint32_t, size_t> named;
    for (const auto& [order, cpus] : choices) {
      for (const uint32_t cpu : cpus.ToVector()) named.emplace(cpu, std::get<2>(order));
    }
    return named;
  }
  static size_t ZoneCount(const ZoneTree& tree) { return tree.topology().zones.size(); }

  const ZoneTree& tree_;
  std::vector<size_t> zones_;                      // ascending
  std::vector<std::pair<size_t, size_t>> counts_;  // by zone: the number of such zones in it, and
                                                   // the last of them
  mutable std::optional<std::map<uint32_t, size_t>> named_;  // zone by CPU; filled at first use
};

// The page size in "hugepages-2Mi". nullopt: another resource.
absl::StatusOr<std::optional<int64_t>> PageSize(const Zone& zone, const std::string& resource) {
  absl::string_view size = resource;
  if (!absl::ConsumePrefix(&size, kHugepagesPrefix)) return std::nullopt;
  const auto quantity = Quantity::Parse(size);
  if (!quantity.ok() || quantity->Sign() <= 0) {
    return Bad(zone, absl::StrCat("has resource \"", resource, "\": expected the size of a page, ",
                                  "as in hugepages-2Mi"));
  }
  return quantity->Value();
}

// Whether a core has an "uncore" cache for itself.
bool HasOwnCache(const Zone& core) {
  const auto level = core.attributes.find(kCacheLevel);
  uint32_t number = 0;
  return level != core.attributes.end() && absl::SimpleAtoi(level->second, &number) &&
         number >= kUncoreLevel;
}

// Adds and saturates, so that a sum over all zones can't overflow.
void AddTo(int64_t& sum, int64_t more) {
  sum = more > std::numeric_limits<int64_t>::max() - sum ? std::numeric_limits<int64_t>::max()
                                                         : sum + more;
}

class Mapper {
 public:
  explicit Mapper(const ZoneTree& tree)
      : tree_(tree),
        cores_(tree, kCore),
        packages_(tree, kPackage),
        nodes_(tree, kNumaNode),
        caches_(tree, kCacheGroup) {}

  absl::StatusOr<MachineMaps> Make(std::vector<std::string>& faults) {
    NumberNodes(faults);
    if (!faults.empty()) return absl::InvalidArgumentError(faults.front());
    NumberPackages();
    for (size_t i = 0; i < tree_.topology().zones.size(); ++i) {
      AddFault(MapCpus(i), faults);
      AddFault(MapMemory(i), faults);
      FindIdentity(tree_.zone(i));
    }
    if (!faults.empty()) return absl::InvalidArgumentError(faults.front());
    NumberCacheGroups();
    MapDistances();
    Count();
    return std::move(maps_);
  }

 private:
  void NumberNodes(std::vector<std::string>& faults) {
    for (const size_t index : nodes_.zones()) AddFault(NumberNode(index), faults);
    if (nodes_.zones().empty()) maps_.nodes[0];
  }

  absl::Status NumberNode(size_t index) {
    const Zone& zone = tree_.zone(index);
    const auto number = NumberOf(zone);
    if (!number) {
      return Bad(
          zone,
          "is a NUMA node, and neither has the kernel's number of it as attribute \"id\" nor "
          "a name that ends in it");
    }
    const auto [node, is_new] = maps_.nodes.emplace(*number, NumaNodeMap{.zone = zone.name});
    if (!is_new) {
      return Bad(zone, absl::StrCat("has the same number as NUMA node \"", node->second.zone,
                                    "\": ", *number));
    }
    node_numbers_[index] = *number;
    return absl::OkStatus();
  }

  void NumberPackages() {
    std::map<uint32_t, size_t> numbers;
    for (const size_t index : packages_.zones()) {
      const auto number = NumberOf(tree_.zone(index));
      if (number) numbers.emplace(*number, index);
    }
    if (numbers.size() == packages_.zones().size()) {
      for (const auto& [number, index] : numbers) package_numbers_[index] = number;
    } else {
      for (const size_t index : packages_.zones()) {
        package_numbers_.emplace(index, static_cast<uint32_t>(package_numbers_.size()));
      }
    }
  }

  // nullopt: the topology has no such zones.
  absl::StatusOr<std::optional<size_t>> Where(const Level& level, absl::string_view type,
                                              uint32_t cpu, size_t index) const {
    if (level.zones().empty()) return std::nullopt;
    const auto found = level.Of(cpu, index);
    if (found) return found;
    return Bad(tree_.zone(index),
               absl::StrCat("has CPUs, but lies in none of the several ", type, " zones"));
  }

  absl::Status MapCpus(size_t index) {
    const Zone& zone = tree_.zone(index);
    const CpuSet own = tree_.OwnCpus(index);
    const Quantity* capacity = FindResource(zone, kCpu);
    if (own.Empty() && !CpuIdsOf(zone).Empty())
      return absl::OkStatus();  // its inner zones have
                                // them
    if (capacity != nullptr && !capacity->IsZero() && own.Empty()) {
      if (!maps_.zone_without_cpu_ids) maps_.zone_without_cpu_ids = zone.name;
      AddTo(milli_cpus_, capacity->MilliValue());
      AddTo(milli_cores_, IsOfType(zone, kCore) ? 1000 : capacity->MilliValue());
      return absl::OkStatus();
    }
    if (own.Empty()) return absl::OkStatus();
    if (capacity != nullptr && *capacity != Quantity::FromInt(static_cast<int64_t>(own.Size()))) {
      return Bad(zone, absl::StrCat("has ", capacity->text(), " of resource \"cpu\" and CPUs ",
                                    own.ToString()));
    }
    const auto core = cores_.Around(index);
    const uint32_t first = core ? tree_.Cpus(*core).ToVector().front() : 0;
    for (const uint32_t cpu : own.ToVector()) {
      PLIMSOLL_RETURN_IF_ERROR(Place(cpu, index, core ? first : cpu));
      if (core && HasOwnCache(tree_.zone(*core))) cache_of_.emplace(cpu, *core);
    }
    return absl::OkStatus();
  }

  absl::Status Place(uint32_t cpu, size_t index, uint32_t core) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto node, Where(nodes_, kNumaNode, cpu, index));
    PLIMSOLL_ASSIGN_OR_RETURN(const auto package, Where(packages_, kPackage, cpu, index));
    const uint32_t number = node ? node_numbers_.at(*node) : 0;
    maps_.cpus[cpu] = {
        .core = core, .package = package ? package_numbers_.at(*package) : 0, .numa_node = number};
    maps_.nodes.at(number).cpus.Add(cpu);
    if (const auto cache = caches_.NearTo(cpu, index)) cache_of_[cpu] = *cache;
    return absl::OkStatus();
  }

  absl::Status MapMemory(size_t index) {
    const Zone& zone = tree_.zone(index);
    NumaNodeMap* node = nullptr;
    if (nodes_.zones().empty()) {
      node = &maps_.nodes.at(0);
    } else if (const auto nearest = nodes_.Nearest(index)) {
      node = &maps_.nodes.at(node_numbers_.at(*nearest));
    }
    for (const ZoneResource& resource : zone.resources) {
      const int64_t bytes = resource.capacity.Value();
      if (resource.name == kSwap) {
        if (!maps_.swap_bytes) maps_.swap_bytes = 0;
        AddTo(*maps_.swap_bytes, bytes);
      }
      if (resource.name == kMemory) {
        AddTo(maps_.memory_bytes, bytes);
        if (node != nullptr) AddTo(node->memory_bytes, bytes);
      }
      PLIMSOLL_ASSIGN_OR_RETURN(const auto page, PageSize(zone, resource.name));
      if (!page) continue;
      if (bytes % *page != 0) {
        return Bad(zone, absl::StrCat("has ", resource.capacity.text(), " of resource \"",
                                      resource.name, "\": no whole number of pages"));
      }
      AddTo(maps_.hugepages[*page], bytes / *page);
      if (node != nullptr) AddTo(node->hugepages[*page], bytes / *page);
    }
    return absl::OkStatus();
  }

  void FindIdentity(const Zone& zone) {
    for (const auto& [attribute, value] :
         {std::pair(kMachineId, &maps_.machine_id), std::pair(kBootId, &maps_.boot_id),
          std::pair(kSystemUuid, &maps_.system_uuid)}) {
      const auto found = zone.attributes.find(attribute);
      if (found != zone.attributes.end() && value->empty()) *value = found->second;
    }
  }

  void NumberCacheGroups() {
    // The first CPU by cache zone, or by node for CPUs in none. CPUs come in order, so the first is
    // the lowest.
    std::map<std::pair<bool, size_t>, uint32_t> first;
    for (auto& [cpu, place] : maps_.cpus) {
      const auto cache = cache_of_.find(cpu);
      const bool in_one = cache != cache_of_.end();
      const size_t group = in_one ? cache->second : place.numa_node;
      place.cache_group = first.emplace(std::pair(in_one, group), cpu).first->second;
    }
    maps_.cache_group_count = static_cast<int64_t>(first.size());
  }

  void MapDistances() {
    for (auto& [number, node] : maps_.nodes) node.distances[number] = 10;
    for (const auto& [index, number] : node_numbers_) {
      for (const Cost& cost : tree_.zone(index).costs) {
        const auto other = tree_.Find(cost.name);
        if (!other) continue;
        const auto node = node_numbers_.find(*other);
        if (node != node_numbers_.end()) {
          maps_.nodes.at(number).distances[node->second] = cost.value;
        }
      }
    }
  }

  void Count() {
    maps_.cpu_count = milli_cpus_ / 1000;
    AddTo(maps_.cpu_count, static_cast<int64_t>(maps_.cpus.size()));
    CpuSet cores;
    for (const auto& [cpu, place] : maps_.cpus) cores.Add(place.core);
    maps_.core_count = milli_cores_ / 1000;
    AddTo(maps_.core_count, static_cast<int64_t>(cores.Size()));
    maps_.package_count = std::max<int64_t>(1, static_cast<int64_t>(packages_.zones().size()));
  }

  const ZoneTree& tree_;
  const Level cores_;
  const Level packages_;
  const Level nodes_;
  const Level caches_;
  std::map<size_t, uint32_t> node_numbers_;     // by zone
  std::map<size_t, uint32_t> package_numbers_;  // by zone
  std::map<uint32_t, size_t> cache_of_;         // zone, by CPU
  int64_t milli_cpus_ = 0;                      // without numbers
  int64_t milli_cores_ = 0;
  MachineMaps maps_;
};

}  // namespace

absl::StatusOr<MachineMaps> MakeMaps(const ZoneTree& tree, std::vector<std::string>* faults) {
  std::vector<std::string> own;
  std::vector<std::string>& found = faults == nullptr ? own : *faults;
  found.clear();
  return Mapper(tree).Make(found);
}

absl::Status CheckCpuIds(const MachineMaps& maps) {
  if (!maps.zone_without_cpu_ids) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("zone \"", *maps.zone_without_cpu_ids, "\" has CPUs and no attribute \"",
                   kCpuIds, "\": CPUs can't be given to containers of their own"));
}

absl::Status CheckAmounts(const MachineMaps& maps) {
  for (const auto& [resource, amount] :
       {std::pair(kCpu, maps.cpu_count), std::pair(kMemory, maps.memory_bytes)}) {
    if (amount > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the zones have no \"", resource,
                     "\" together: a node without it can run nothing; expected a zone with a "
                     "resource of that name"));
  }
  return absl::OkStatus();
}

CpuSet CpusWith(const MachineMaps& maps, uint32_t CpuPlace::*level, uint32_t id) {
  CpuSet cpus;
  for (const auto& [cpu, place] : maps.cpus) {
    if (place.*level == id) cpus.Add(cpu);
  }
  return cpus;
}

}  // namespace plimsoll::topology
