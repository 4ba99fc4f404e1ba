// The usable rest of a partition that doesn't fit the machine.
#ifndef PLIMSOLL_TOPOLOGY_PARTITION_LEFT_H_
#define PLIMSOLL_TOPOLOGY_PARTITION_LEFT_H_

#include "absl/status/statusor.h"
#include "topology/partition.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {

// MakePartition with the parts of the description that this machine has: existing CPUs, zones and
// NUMA nodes, as many CPUs and as much memory as there is, attributes of shown zones.
// FAILED_PRECONDITION when nothing is left.
absl::StatusOr<Partition> MakePartitionOfWhatIsLeft(const PartitionConfig& config,
                                                    const ZoneTree& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_PARTITION_LEFT_H_
