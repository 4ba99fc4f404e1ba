// The node's topology (KEP-5224): the CRI's messages and the runtime's words.
#ifndef PLIMSOLL_CRI_TRANSLATE_TOPOLOGY_H_
#define PLIMSOLL_CRI_TRANSLATE_TOPOLOGY_H_

#include "absl/status/statusor.h"
#include "cri/runtime/v1/api.pb.h"
#include "topology/zone.h"

namespace plimsoll::cri {

void FillTopology(const topology::Topology& topology, ::runtime::v1::ResourceTopology* out);

// Quantities are in canonical form, as others than the kernel needn't write them. INVALID_ARGUMENT
// names the zone and the resource whose capacity is no quantity. What else can be
// wrong with a topology, ZoneTree::Build tells.
absl::StatusOr<topology::Topology> TopologyFrom(const ::runtime::v1::ResourceTopology& message);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_TRANSLATE_TOPOLOGY_H_
