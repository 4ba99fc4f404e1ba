// A checked topology with its shape worked out. Reads generously: a parent that is empty or "root"
// needs no zone of its own, unknown types and attributes pass through, attributes may be at any
// zone (DESIGN "Zone tree").
#ifndef PLIMSOLL_TOPOLOGY_ZONES_ZONE_TREE_H_
#define PLIMSOLL_TOPOLOGY_ZONES_ZONE_TREE_H_

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
#include "topology/zones/zone.h"

namespace plimsoll::topology {

// A value; zones are identified by their index in topology().zones.
class ZoneTree {
 public:
  // The most zones: over a hundred times any real node's. The root that Normalise would add counts
  // in both limits.
  static constexpr size_t kMaxZones = 100000;
  // The deepest nesting of zones.
  static constexpr size_t kMaxDepth = 100;

  // INVALID_ARGUMENT names the zone and its fault: no name, a duplicate name, an unknown parent,
  // zones that are each other's parents or nested too deep, a negative capacity, a duplicate
  // resource, cpu-ids that are no CPU list, a CPU in two zones of which neither is within the
  // other, no zones or too many. The status is the first fault; `faults`, if given, gets all of
  // them, but at most kMaxFaults sentences.
  //
  // Zones with resource "cpu" and cores have the CPUs of their cpu-ids. Those of other zones only
  // say which CPUs are near; but if no zone of the topology has any CPUs, they have them.
  static constexpr size_t kMaxFaults = 100;
  static absl::StatusOr<ZoneTree> Build(Topology topology,
                                        std::vector<std::string>* faults = nullptr);

  const Topology& topology() const { return topology_; }
  const Zone& zone(size_t index) const { return topology_.zones[index]; }
  std::optional<size_t> Find(const std::string& name) const;
  // nullopt: directly below the machine, or the machine's own zone.
  std::optional<size_t> Parent(size_t index) const { return shapes_[index].parent; }
  const std::vector<size_t>& Children(size_t index) const { return shapes_[index].children; }
  // Zones without a parent. HasRoot: one of them is around all others, i.e. it is the only one and
  // either of no level that may be hidden, or has the root's name.
  const std::vector<size_t>& Tops() const { return tops_; }
  bool HasRoot() const;
  // The nearest zone of a type around it, or the zone itself.
  std::optional<size_t> Enclosing(size_t index, absl::string_view type) const;

  // CPUs of a zone: its own cpu-ids and those of all zones within it. Computed again by each call.
  resources::CpuSet Cpus(size_t index) const;
  // The CPUs that the zone has and no zone within it has.
  resources::CpuSet OwnCpus(size_t index) const;
  // The CPUs of all zones.
  const resources::CpuSet& Cpus() const { return cpus_; }

 private:
  struct Shape {
    std::optional<size_t> parent;
    std::vector<size_t> children;
    // The zone's position in a walk from the top, and the position after the last zone within it.
    size_t first = 0;
    size_t end = 0;
  };

  explicit ZoneTree(Topology topology) : topology_(std::move(topology)) {}
  // Each adds its findings to `faults`, and goes on without the faulty parts.
  using Faults = std::vector<std::string>;
  void IndexNames(Faults& faults);
  void CheckResources(Faults& faults) const;
  void LinkParents(Faults& faults);
  // Gives the zones their positions. Unreachable zones form cycles. False: some have no position.
  bool Walk(Faults& faults);
  bool WalkFrom(size_t top, size_t max_depth, size_t& place, Faults& faults);
  void GatherCpus(Faults& faults);
  // Enters the zone's CPUs into `innermost`, which maps a CPU to its zone. Returns a CPU that
  // another zone has.
  std::optional<uint32_t> Take(size_t index, const resources::CpuSet& cpus,
                               std::vector<size_t>& innermost) const;
  bool IsWithin(size_t index, size_t ancestor) const;
  resources::CpuSet CpusAt(size_t first, size_t end) const;

  Topology topology_;
  std::vector<Shape> shapes_;
  std::vector<size_t> tops_;
  std::map<std::string, size_t> by_name_;
  // The position of the innermost zone that has a CPU, and the CPU; sorted.
  std::vector<std::pair<size_t, uint32_t>> cpus_at_;
  resources::CpuSet cpus_;
};

// The CPUs of a zone's own attribute; empty without one. For zones of a ZoneTree.
resources::CpuSet CpuIdsOf(const Zone& zone);

// FAILED_PRECONDITION names the first zone with cpu-ids that the machine lacks; `faults` as in
// Build.
absl::Status CheckCpusExist(const ZoneTree& tree, const resources::CpuSet& machine,
                            std::vector<std::string>* faults = nullptr);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_ZONES_ZONE_TREE_H_
