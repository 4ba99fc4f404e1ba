// A topology read as kubelet reads it, and its difference from another.
#ifndef PLIMSOLL_AGENT_NODE_READ_TOPOLOGY_H_
#define PLIMSOLL_AGENT_NODE_READ_TOPOLOGY_H_

#include <string>

#include "absl/status/statusor.h"
#include "topology/zones/maps.h"
#include "topology/zones/zone.h"

namespace plimsoll::agent {

// INVALID_ARGUMENT as topology::ReadMaps and CheckAmounts; FAILED_PRECONDITION as
// topology::CheckCpuIds, if the numbers of all CPUs are required.
absl::StatusOr<topology::MachineMaps> ReadTopology(const topology::Topology& topology,
                                                   bool cpu_ids_required);

// One line for people: "cpu 4 -> 6 (CPUs 4-5 came), memory 8Gi -> 16Gi". Without a difference in
// numbers: what else differs.
std::string DifferenceOf(const topology::MachineMaps& before, const topology::MachineMaps& after);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_READ_TOPOLOGY_H_
