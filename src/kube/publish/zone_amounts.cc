#include "kube/publish/zone_amounts.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>

#include "resources/cpu_set.h"

namespace plimsoll::kube {
namespace {

using resources::CpuSet;
using resources::Quantity;
using topology::ZoneTree;

Quantity Whole(uint64_t amount, Quantity::Format format) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  return Quantity::FromInt(static_cast<int64_t>(std::min(amount, kMost)), format);
}

// Takes up to `wanted` from the amount; the rest of it.
Quantity TakeFrom(ZoneAmount& amount, const Quantity& wanted) {
  const Quantity taken = std::min(amount.available, wanted);
  amount.available = amount.available - taken;
  return wanted - taken;
}

class ZoneTaker {
 public:
  ZoneTaker(const ZoneTree& tree, std::vector<ZoneAmounts>& amounts)
      : tree_(tree), amounts_(amounts) {
    for (size_t i = 0; i < amounts_.size(); ++i) {
      if (!topology::IsOfType(tree_.zone(i), topology::kNumaNode)) continue;
      if (const auto id = topology::NumberOf(tree_.zone(i))) nodes_.emplace(*id, i);
    }
  }

  void TakeCpus(const std::string& list) {
    const auto cpus = CpuSet::Parse(list);
    if (!cpus.ok()) return;
    for (size_t i = 0; i < amounts_.size(); ++i) {
      const auto cpu = amounts_[i].find(topology::kCpu);
      if (cpu == amounts_[i].end()) continue;
      const size_t taken = tree_.OwnCpus(i).Intersection(*cpus).Size();
      TakeFrom(cpu->second, Whole(taken, Quantity::Format::kDecimalSi));
    }
  }

  void TakeMemory(const std::vector<Taken>& memory) {
    // Memory of one node alone goes first.
    for (const bool is_single : {true, false}) {
      for (const Taken& taken : memory) {
        if ((taken.numa_nodes.size() == 1) == is_single) TakeMemory(taken);
      }
    }
  }

  void AddDevices(const std::vector<Taken>& devices) {
    for (const Taken& each : devices) {
      const Quantity amount = Whole(each.amount, Quantity::Format::kDecimalSi);
      for (const size_t zone : ZonesOf(each)) {
        ZoneAmount& at = amounts_[zone][each.resource];
        at.capacity = at.capacity + amount;
        at.available = at.available + amount;
      }
    }
  }

  void TakeDevices(const std::vector<Taken>& devices) {
    for (const Taken& each : devices) {
      for (const size_t zone : ZonesOf(each)) {
        const auto at = amounts_[zone].find(each.resource);
        if (at == amounts_[zone].end()) continue;
        TakeFrom(at->second, Whole(each.amount, Quantity::Format::kDecimalSi));
      }
    }
  }

 private:
  void TakeMemory(const Taken& taken) {
    Quantity wanted = Whole(taken.amount, Quantity::Format::kBinarySi);
    const std::set<uint32_t> numbers(taken.numa_nodes.begin(), taken.numa_nodes.end());
    bool all_have_zones = true;
    for (const uint32_t number : numbers) {
      const auto node = nodes_.find(number);
      if (node == nodes_.end()) {
        all_have_zones = false;
      } else {
        wanted = TakeAt(node->second, taken.resource, wanted);
      }
    }
    for (size_t i = 0; !all_have_zones && i < amounts_.size(); ++i) {
      if (!topology::IsOfType(tree_.zone(i), topology::kNumaNode)) {
        wanted = TakeAt(i, taken.resource, wanted);
      }
    }
  }

  Quantity TakeAt(size_t zone, const std::string& resource, const Quantity& wanted) {
    const auto at = amounts_[zone].find(resource);
    return at == amounts_[zone].end() ? wanted : TakeFrom(at->second, wanted);
  }

  // The NUMA nodes of devices that have zones.
  std::set<size_t> ZonesOf(const Taken& devices) const {
    std::set<size_t> zones;
    for (const uint32_t number : devices.numa_nodes) {
      const auto node = nodes_.find(number);
      if (node != nodes_.end()) zones.insert(node->second);
    }
    return zones;
  }

  const ZoneTree& tree_;
  std::vector<ZoneAmounts>& amounts_;
  std::map<uint32_t, size_t> nodes_;  // zones of NUMA nodes by number
};

void MoveCpusToNodes(const ZoneTree& tree, std::vector<ZoneAmounts>& amounts) {
  for (size_t i = 0; i < amounts.size(); ++i) {
    const std::optional<size_t> node = tree.Enclosing(i, topology::kNumaNode);
    const auto cpu = amounts[i].find(topology::kCpu);
    if (!node || *node == i || cpu == amounts[i].end()) continue;
    ZoneAmount& sum = amounts[*node][topology::kCpu];
    sum.capacity = sum.capacity + cpu->second.capacity;
    sum.available = sum.available + cpu->second.available;
    amounts[i].erase(topology::kCpu);
  }
}

}  // namespace

std::vector<ZoneAmounts> AmountsOf(const ZoneTree& tree, const Exclusive* exclusive) {
  std::vector<ZoneAmounts> amounts(tree.topology().zones.size());
  for (size_t i = 0; i < amounts.size(); ++i) {
    for (const topology::ZoneResource& each : tree.zone(i).resources) {
      amounts[i][each.name] = {each.capacity, each.capacity};
    }
  }
  if (exclusive != nullptr) {
    ZoneTaker taker(tree, amounts);
    taker.TakeCpus(exclusive->cpus);
    taker.TakeMemory(exclusive->memory);
    taker.AddDevices(exclusive->device_totals);
    taker.TakeDevices(exclusive->devices);
  }
  MoveCpusToNodes(tree, amounts);
  return amounts;
}

}  // namespace plimsoll::kube
