// Reduces a topology for display: hides levels, shows fewer CPUs and cores, adds attributes.
#ifndef PLIMSOLL_TOPOLOGY_SHOW_H_
#define PLIMSOLL_TOPOLOGY_SHOW_H_

#include "absl/status/statusor.h"
#include "topology/partition.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {

// A hidden zone's resources and CPUs move to the nearest shown zone around it; its other attributes
// and costs are lost. FAILED_PRECONDITION for attributes of a zone that is not shown or doesn't
// exist, and for a hidden zone with resources and no shown zone around it (Normalise's topologies
// always have one).
absl::StatusOr<Topology> Shown(const Show& show, const ZoneTree& tree);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_SHOW_H_
