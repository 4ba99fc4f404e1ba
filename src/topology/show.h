// How a topology is shown: levels left out, fewer CPUs and cores than there are, further
// attributes.
#ifndef PLIMSOLL_TOPOLOGY_SHOW_H_
#define PLIMSOLL_TOPOLOGY_SHOW_H_

#include "absl/status/statusor.h"
#include "topology/partition.h"
#include "topology/zone_tree.h"

namespace plimsoll::topology {

// The resources and CPUs of a zone that is hidden move to the nearest outer one that is shown, its
// other attributes and costs are lost. FAILED_PRECONDITION for attributes of a zone that is not
// shown or not there, and for a hidden zone with resources and none around it (of a topology that
// Normalise has made there is always one).
absl::StatusOr<Topology> Shown(const Show& show, const ZoneTree& tree);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_SHOW_H_
