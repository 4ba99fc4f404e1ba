// A topology as a document: YAML with the keys of the proposal's own example.
//
//   zones:
//   - name: core-0-0
//     type: Core
//     parent: package-0
//     costs: [{name: core-0-0, value: 10}]
//     attributes: {cpu-ids: "0,4"}
//     resources: [{name: cpu, capacity: 2}]
//
// A capacity may be {string: "2"} too, as in the CRI's messages. It is stored in canonical form.
#ifndef PLIMSOLL_TOPOLOGY_TOPOLOGY_FILE_H_
#define PLIMSOLL_TOPOLOGY_TOPOLOGY_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topology/validate.h"
#include "topology/zones/zone.h"

namespace plimsoll::topology {

// INVALID_ARGUMENT "<file>:<line>:<column>: ..." for text that is no such document: unknown keys,
// wrong types, capacities that are no quantities (a bare number is one). ZoneTree::Build finds
// other faults.
absl::StatusOr<Topology> ParseTopology(absl::string_view text, const std::string& file);

// All faults of such a document, a sentence each, the first hundred of a kind: ParseTopology's,
// then Validate's, with a machine or without.
std::vector<std::string> FaultsOf(absl::string_view text, const std::string& file,
                                  const MachineNumbers* machine);

// The inverse: the topology as a document.
std::string TopologyYaml(const Topology& topology);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_TOPOLOGY_FILE_H_
