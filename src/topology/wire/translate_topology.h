// The node's topology (KEP-5224): between the CRI's messages and plain values.
#ifndef PLIMSOLL_TOPOLOGY_WIRE_TRANSLATE_TOPOLOGY_H_
#define PLIMSOLL_TOPOLOGY_WIRE_TRANSLATE_TOPOLOGY_H_

#include "absl/status/statusor.h"
#include "cri/runtime/v1/api.pb.h"
#include "topology/zones/zone.h"

namespace plimsoll::topology {

void FillTopology(const Topology& topology, ::runtime::v1::ResourceTopology* out);

// Quantities become canonical, since providers needn't write them so. INVALID_ARGUMENT names the
// zone and the resource whose capacity is no quantity. ZoneTree::Build reports all other errors.
absl::StatusOr<Topology> TopologyFrom(const ::runtime::v1::ResourceTopology& message);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_WIRE_TRANSLATE_TOPOLOGY_H_
