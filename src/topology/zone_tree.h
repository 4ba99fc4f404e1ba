// A topology that has been checked, with its shape worked out. Read generously: a parent that is
// empty or "root" needs no zone of its own, types and attributes that nobody here knows pass
// through, attributes may be at any zone (DESIGN "Zone tree").
#ifndef PLIMSOLL_TOPOLOGY_ZONE_TREE_H_
#define PLIMSOLL_TOPOLOGY_ZONE_TREE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "resources/cpu_set.h"
#include "topology/zone.h"

namespace plimsoll::topology {

// A value; zones are known by their index in topology().zones.
class ZoneTree {
 public:
  // What one machine can have, many times over: no node has a hundredth of it. The root that
  // Normalise would add counts in both.
  static constexpr size_t kMaxZones = 100000;
  // Zones within one another.
  static constexpr size_t kMaxDepth = 100;

  // INVALID_ARGUMENT names the zone and what is wrong: no name, a name twice, an unknown parent,
  // zones that are each other's parents or too deep in one another, a negative capacity, a resource
  // twice, cpu-ids that are no CPU list, a CPU that two zones have of which neither is within the
  // other, no zones or too many. That is the first of what is wrong; all of it, but no more than
  // kMaxFaults sentences, goes to `faults` where that is given.
  //
  // Zones with resource "cpu" and cores have the CPUs of their cpu-ids. Those of other zones only
  // say what is near, but where no zone of the topology has any: then they have them.
  static constexpr size_t kMaxFaults = 100;
  static absl::StatusOr<ZoneTree> Build(Topology topology,
                                        std::vector<std::string>* faults = nullptr);

  const Topology& topology() const { return topology_; }
  const Zone& zone(size_t index) const { return topology_.zones[index]; }
  std::optional<size_t> Find(const std::string& name) const;
  // nullopt: directly below the machine, or the machine's own zone.
  std::optional<size_t> Parent(size_t index) const { return shapes_[index].parent; }
  const std::vector<size_t>& Children(size_t index) const { return shapes_[index].children; }
  // Zones that are in none, and whether one of them is around all others: a single one that is of
  // no level that may be hidden, or has the root's name.
  const std::vector<size_t>& Tops() const { return tops_; }
  bool HasRoot() const;
  // The nearest of a type, the zone itself included.
  std::optional<size_t> Enclosing(size_t index, absl::string_view type) const;

  // CPUs of a zone: its own cpu-ids and those of all zones within it. Made anew by each call.
  resources::CpuSet Cpus(size_t index) const;
  // Those that it has and no zone within it has.
  resources::CpuSet OwnCpus(size_t index) const;
  // Of all zones.
  const resources::CpuSet& Cpus() const { return cpus_; }

 private:
  struct Shape {
    std::optional<size_t> parent;
    std::vector<size_t> children;
    // In the order in which a walk from the top meets zones: its place, and that after the last
    // zone within it.
    size_t first = 0;
    size_t end = 0;
  };

  explicit ZoneTree(Topology topology) : topology_(std::move(topology)) {}
  // Each adds what it finds wrong to the faults, and goes on without it.
  using Faults = std::vector<std::string>;
  void IndexNames(Faults& faults);
  void CheckResources(Faults& faults) const;
  void LinkParents(Faults& faults);
  // Gives the zones their places. What it doesn't come by hangs on itself. False: not all have one.
  bool Walk(Faults& faults);
  bool WalkFrom(size_t top, size_t max_depth, size_t& place, Faults& faults);
  void GatherCpus(Faults& faults);
  // Zones by the CPUs that they have: `innermost` is by CPU. Returns a CPU that another zone has.
  std::optional<uint32_t> Take(size_t index, const resources::CpuSet& cpus,
                               std::vector<size_t>& innermost) const;
  bool IsWithin(size_t index, size_t ancestor) const;
  resources::CpuSet CpusAt(size_t first, size_t end) const;

  Topology topology_;
  std::vector<Shape> shapes_;
  std::vector<size_t> tops_;
  std::map<std::string, size_t> by_name_;
  // The place of the innermost zone that has a CPU, and the CPU; sorted.
  std::vector<std::pair<size_t, uint32_t>> cpus_at_;
  resources::CpuSet cpus_;
};

// What a zone's own attribute says; empty where it has none. Of a zone of a ZoneTree.
resources::CpuSet CpuIdsOf(const Zone& zone);

// FAILED_PRECONDITION names the first zone whose cpu-ids the machine lacks; `faults` as Build's.
absl::Status CheckCpusExist(const ZoneTree& tree, const resources::CpuSet& machine,
                            std::vector<std::string>* faults = nullptr);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_ZONE_TREE_H_
