#include "topology/partition.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "topology/show.h"
#include "topology/validate.h"

namespace plimsoll::topology {
namespace {

using resources::CpuSet;
using resources::Quantity;

absl::Status DoesNotFit(absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat("nodeResources: ", what));
}

absl::Status CheckSubset(absl::string_view key, const CpuSet& cpus, const CpuSet& machine) {
  if (cpus.IsSubsetOf(machine)) return absl::OkStatus();
  return DoesNotFit(absl::StrCat(key, ": CPUs ", cpus.Difference(machine).ToString(),
                                 " are not there or offline; the topology has ",
                                 machine.ToString()));
}

absl::StatusOr<CpuSet> LastCpus(const ZoneTree& machine, uint32_t count) {
  if (count > machine.Cpus().Size()) {
    return DoesNotFit(absl::StrCat("cpus.count: ", count, " of ", machine.Cpus().Size(), " CPUs"));
  }
  CpuSet chosen;
  const size_t zones = machine.topology().zones.size();
  // CPUs are in cores, but a foreign topology may have them anywhere.
  const auto take = [&](size_t zone, bool whole) {
    const std::vector<uint32_t> cpus = machine.OwnCpus(zone).Difference(chosen).ToVector();
    const size_t missing = count - chosen.Size();
    if (whole && cpus.size() > missing) return;
    for (size_t i = cpus.size() - std::min(missing, cpus.size()); i < cpus.size(); ++i) {
      chosen.Add(cpus[i]);
    }
  };
  for (const bool whole : {true, false}) {
    for (size_t i = zones; i-- > 0 && chosen.Size() < count;) {
      take(i, whole);
    }
  }
  return chosen;
}

absl::StatusOr<CpuSet> ChooseCpus(const CpuChoice& choice, const ZoneTree& machine) {
  const CpuSet& all = machine.Cpus();
  CpuSet chosen = all;
  if (choice.list) {
    PLIMSOLL_RETURN_IF_ERROR(CheckSubset("cpus.list", *choice.list, all));
    chosen = *choice.list;
  } else if (choice.count) {
    PLIMSOLL_ASSIGN_OR_RETURN(chosen, LastCpus(machine, *choice.count));
  } else if (!choice.zones.empty()) {
    chosen = CpuSet();
    for (const std::string& name : choice.zones) {
      const auto zone = machine.Find(name);
      if (!zone)
        return DoesNotFit(absl::StrCat("cpus.zones: the topology has no zone \"", name, "\""));
      chosen = chosen.Union(machine.Cpus(*zone));
    }
  } else if (choice.reserved) {
    PLIMSOLL_RETURN_IF_ERROR(CheckSubset("cpus.reserved", *choice.reserved, all));
    chosen = all.Difference(*choice.reserved);
  }
  // A foreign topology need not number its CPUs unless the partition asks for numbers.
  const bool unnumbered = all.Empty() && choice == CpuChoice();
  if (chosen.Empty() && !unnumbered) return DoesNotFit("cpus: no CPU is left for Kubernetes");
  return chosen;
}

// The partition's amount of a NUMA node's resource.
absl::StatusOr<Quantity> Share(const std::string& resource, const Zone& node, const Amount& amount,
                               const Quantity& there) {
  // Huge pages can't be divided.
  int64_t unit = 1;
  absl::string_view page = resource;
  if (absl::ConsumePrefix(&page, kHugepagesPrefix)) {
    const auto size = Quantity::Parse(page);
    if (size.ok() && size->Value() > 0) unit = size->Value();
  }
  if (amount.quantity) {
    if (*amount.quantity > there) {
      return DoesNotFit(absl::StrCat(resource, ": ", amount.quantity->text(), " of zone \"",
                                     node.name, "\", but the zone has ", there.text()));
    }
    if (amount.quantity->Value() % unit != 0) {
      return DoesNotFit(absl::StrCat(resource, ": ", amount.quantity->text(), " of zone \"",
                                     node.name, "\" is no whole number of pages"));
    }
    return Quantity::Parse(amount.quantity->Canonical());
  }
  const auto bytes =
      static_cast<int64_t>(static_cast<double>(there.Value()) * amount.percent / 100);
  return Quantity::FromInt(bytes / unit * unit, Quantity::Format::kBinarySi);
}

// `show` may give zones attributes that contradict each other.
absl::Status CheckReadable(const Topology& shown) {
  const absl::Status status = ReadMaps(shown).status();
  if (status.ok()) return status;
  return DoesNotFit(absl::StrCat("clients could not read what is shown: ", status.message()));
}

// Cuts the machine down, zone by zone; keeps the order.
class Cut {
 public:
  Cut(const PartitionConfig& config, const ZoneTree& machine, CpuSet cpus)
      : config_(config), machine_(machine), cpus_(std::move(cpus)) {}

  absl::StatusOr<Partition> Make() {
    PLIMSOLL_RETURN_IF_ERROR(CheckNodeNames());
    Topology cut;
    bool all_nodes = true;
    CpuSet nodes;
    for (size_t i = 0; i < machine_.topology().zones.size(); ++i) {
      Zone zone = machine_.zone(i);
      if (IsOfType(zone, kNumaNode)) {
        PLIMSOLL_RETURN_IF_ERROR(CutMemory(i, zone));
        const auto number = NumberOf(zone);
        if (HasMemory(zone) && number) nodes.Add(*number);
        all_nodes = all_nodes && (HasMemory(zone) || !HasMemory(machine_.zone(i)));
      }
      CutCpus(i, zone);
      if (IsLeft(i, zone)) cut.zones.push_back(std::move(zone));
    }
    KeepOuterZones(cut);
    PLIMSOLL_ASSIGN_OR_RETURN(const ZoneTree tree, ZoneTree::Build(std::move(cut)));
    PLIMSOLL_ASSIGN_OR_RETURN(Topology shown, Shown(config_.show, tree));
    if (shown.zones.empty()) return DoesNotFit("show: all zones are hidden");
    PLIMSOLL_RETURN_IF_ERROR(CheckReadable(shown));
    return Partition{.cpus = cpus_,
                     .memory_nodes = std::move(nodes),
                     .shown = std::move(shown),
                     .is_whole = all_nodes && cpus_ == machine_.Cpus()};
  }

 private:
  absl::Status CheckNodeNames() const {
    for (const auto& [resource, nodes] : config_.memory) {
      for (const auto& [name, amount] : nodes) {
        const auto zone = machine_.Find(name);
        if (zone && IsOfType(machine_.zone(*zone), kNumaNode) &&
            FindResource(machine_.zone(*zone), resource) != nullptr) {
          continue;
        }
        return DoesNotFit(absl::StrCat(resource, ": there is no NUMA node \"", name,
                                       "\" with such memory in the topology"));
      }
    }
    return absl::OkStatus();
  }

  // Null without an entry.
  const Amount* AmountOf(const std::string& resource, const std::string& node) const {
    const auto nodes = config_.memory.find(resource);
    if (nodes == config_.memory.end()) return nullptr;
    const auto named = nodes->second.find(node);
    return named == nodes->second.end() ? nullptr : &named->second;
  }

  absl::Status CutMemory(size_t index, Zone& zone) const {
    const CpuSet own = machine_.Cpus(index);
    const Amount* memory = AmountOf(kMemory, zone.name);
    const bool left_to_others =
        memory != nullptr && (memory->quantity ? memory->quantity->IsZero() : memory->percent == 0);
    const bool in_partition = !left_to_others && (own.Empty() || !own.Intersection(cpus_).Empty());
    for (ZoneResource& resource : zone.resources) {
      if (const Amount* amount = AmountOf(resource.name, zone.name)) {
        PLIMSOLL_ASSIGN_OR_RETURN(resource.capacity,
                                  Share(resource.name, zone, *amount, resource.capacity));
      } else if (!in_partition) {
        resource.capacity = Quantity::FromInt(0);
      }
    }
    return absl::OkStatus();
  }

  void CutCpus(size_t index, Zone& zone) const {
    const CpuSet named = CpuIdsOf(zone);
    const CpuSet left = named.Intersection(cpus_);
    if (left == named) return;
    zone.attributes[kCpuIds] = left.ToString();
    // The CPUs of inner zones are counted there.
    const CpuSet own = machine_.OwnCpus(index);
    const CpuSet counted = own.Empty() ? left : own.Intersection(cpus_);
    if (!own.Empty() && counted == own) return;
    // A zone with a capacity below its number of CPUs keeps that.
    const auto most = Quantity::FromInt(static_cast<int64_t>(counted.Size()));
    for (ZoneResource& resource : zone.resources) {
      if (resource.name == kCpu && resource.capacity > most) resource.capacity = most;
    }
  }

  // True for memory of any kind, even huge pages alone.
  static bool HasMemory(const Zone& zone) {
    return std::any_of(zone.resources.begin(), zone.resources.end(),
                       [](const ZoneResource& resource) {
                         return resource.name != kCpu && !resource.capacity.IsZero();
                       });
  }

  // False for a zone without memory whose CPUs are all outside of the partition.
  bool IsLeft(size_t index, const Zone& zone) const {
    const CpuSet own = machine_.Cpus(index);
    return own.Empty() || !own.Intersection(cpus_).Empty() || HasMemory(zone);
  }

  // Remaining zones need the zones around them: removed ones come back, without their CPUs.
  void KeepOuterZones(Topology& cut) const {
    std::map<size_t, Zone*> left;  // by index in the machine; null: only as an outer zone
    for (Zone& zone : cut.zones) {
      const size_t index = *machine_.Find(zone.name);
      left[index] = &zone;
      for (auto outer = machine_.Parent(index); outer; outer = machine_.Parent(*outer)) {
        left.emplace(*outer, nullptr);
      }
    }
    std::vector<Zone> kept;
    for (const auto& [index, zone] : left) {
      kept.push_back(zone == nullptr ? Emptied(machine_.zone(index)) : std::move(*zone));
    }
    cut.zones = std::move(kept);
  }
  static Zone Emptied(Zone zone) {
    zone.resources.clear();
    zone.attributes.erase(kCpuIds);
    return zone;
  }

  const PartitionConfig& config_;
  const ZoneTree& machine_;
  const CpuSet cpus_;
};

}  // namespace

absl::StatusOr<Partition> MakePartition(const PartitionConfig& config, const ZoneTree& machine) {
  PLIMSOLL_ASSIGN_OR_RETURN(CpuSet cpus, ChooseCpus(config.cpus, machine));
  return Cut(config, machine, std::move(cpus)).Make();
}

}  // namespace plimsoll::topology
