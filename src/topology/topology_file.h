// A topology as a document: YAML in the words of the proposal's own example.
//
//   zones:
//   - name: core-0-0
//     type: Core
//     parent: package-0
//     costs: [{name: core-0-0, value: 10}]
//     attributes: {cpu-ids: "0,4"}
//     resources: [{name: cpu, capacity: 2}]
//
// A capacity may be {string: "2"} too, as in the CRI's messages. However it was written, it is kept
// in canonical form.
#ifndef PLIMSOLL_TOPOLOGY_TOPOLOGY_FILE_H_
#define PLIMSOLL_TOPOLOGY_TOPOLOGY_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "topology/validate.h"
#include "topology/zone.h"

namespace plimsoll::topology {

// INVALID_ARGUMENT "<file>:<line>:<column>: ..." for what is no such document: unknown keys, wrong
// types, capacities that are no quantities (a bare number is one). What else can be wrong with a
// topology, ZoneTree::Build tells.
absl::StatusOr<Topology> ParseTopology(absl::string_view text, const std::string& file);

// All that is wrong with such a document, a sentence each, the first hundred of a kind: as
// ParseTopology, then as Validate, with a machine and without.
std::vector<std::string> FaultsOf(absl::string_view text, const std::string& file,
                                  const MachineNumbers* machine);

// The same document again.
std::string TopologyYaml(const Topology& topology);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_TOPOLOGY_FILE_H_
