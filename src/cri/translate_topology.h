// The node's topology (KEP-5224): between the CRI's messages and the runtime's types.
#ifndef PLIMSOLL_CRI_TRANSLATE_TOPOLOGY_H_
#define PLIMSOLL_CRI_TRANSLATE_TOPOLOGY_H_

#include "absl/status/statusor.h"
#include "cri/runtime/v1/api.pb.h"
#include "topology/zone.h"

namespace plimsoll::cri {

void FillTopology(const topology::Topology& topology, ::runtime::v1::ResourceTopology* out);

// Quantities become canonical, since providers needn't write them so. INVALID_ARGUMENT names the
// zone and the resource whose capacity is no quantity. ZoneTree::Build reports all other errors.
absl::StatusOr<topology::Topology> TopologyFrom(const ::runtime::v1::ResourceTopology& message);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_TRANSLATE_TOPOLOGY_H_
