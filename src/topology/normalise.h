// Brings the topologies of all sources into one form, before the partition is cut from it.
#ifndef PLIMSOLL_TOPOLOGY_NORMALISE_H_
#define PLIMSOLL_TOPOLOGY_NORMALISE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "topology/zones/zone.h"

namespace plimsoll::topology {

// Establishes the properties that clients of the proposal rely on and foreign topologies may lack:
// - one zone without a parent, around all others. If there is none, or it is a level that may be
//   hidden, a zone "root" of type Machine is added, so that "parent: root" names a zone;
// - parents before the zones in them;
// - the types that kubelet knows in its own spelling ("Core" for "core", "Package" for "socket");
// - attribute "id" on NUMA nodes and packages: the present one, else the number that ends the name;
// - with `ids`, attributes machine-id, boot-id and system-uuid from there, on the outermost zone
//   alone: a file's own are those of the machine and the boot that it was written on.
// All else stays as it is. INVALID_ARGUMENT as ZoneTree::Build. `ids` may be null.
absl::StatusOr<Topology> Normalise(Topology topology,
                                   const std::map<std::string, std::string>* ids);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_NORMALISE_H_
