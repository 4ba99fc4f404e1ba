// kubelet's topology manager: makes one place of the hints of all managers
// (pkg/kubelet/cm/topologymanager; Kubernetes' "Control Topology Management Policies on a node").
#ifndef PLIMSOLL_AGENT_TOPOLOGY_MANAGER_TOPOLOGY_MANAGER_H_
#define PLIMSOLL_AGENT_TOPOLOGY_MANAGER_TOPOLOGY_MANAGER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/topology_manager/hint.h"
#include "agent/topology_manager/node_distances.h"
#include "agent/topology_manager/node_mask.h"
#include "agent/topology_manager/place_order.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

enum class TopologyPolicy { kNone, kBestEffort, kRestricted, kSingleNumaNode };
enum class TopologyScope { kContainer, kPod };
const char* TopologyPolicyName(TopologyPolicy policy);  // "single-numa-node"

struct TopologyOptions {
  TopologyPolicy policy = TopologyPolicy::kNone;
  TopologyScope scope = TopologyScope::kContainer;
  bool prefer_closest = false;  // prefer-closest-numa-nodes
  int max_nodes = 8;            // max-allowable-numa-nodes; at least 8
  bool operator==(const TopologyOptions&) const = default;
};
// kubelet's topologyManagerPolicy, topologyManagerScope and topologyManagerPolicyOptions; an empty
// policy or scope is its default.
// INVALID_ARGUMENT names the value and the valid ones.
absl::StatusOr<TopologyOptions> ParseTopologyOptions(
    absl::string_view policy, absl::string_view scope,
    const std::map<std::string, std::string>& options);

// Immutable.
class TopologyManager {
 public:
  // FAILED_PRECONDITION: with a policy other than none, the machine has more than max_nodes NUMA
  // nodes or one of a number of NodeMask::kMost or more; prefer_closest without distances.
  static absl::StatusOr<TopologyManager> Make(const TopologyOptions& options,
                                              const topology::MachineMaps& maps);

  struct Decision {
    Hint best;
    bool admitted = true;
  };
  // `hints` are those of each provider; the result doesn't depend on their order. With policy none:
  // any place, not preferred, admitted. The same as kubelet's up to 16 NUMA nodes, for any number
  // of hints; on larger machines as long as there aren't too many of them (CommonRanges).
  Decision Merge(std::vector<ResourceHints> hints) const;

  // Merge's decision on the hints that `hints_of` makes, with preferred ones alone as long as these
  // decide. Other hints make a difference only to best-effort, and where none is agreed on: then it
  // is asked for ranges, or on a machine with more than 16 nodes for all. The `best` of a decision
  // that is not admitted is of no use.
  using HintsOf = absl::FunctionRef<std::vector<ResourceHints>(HintChoice)>;
  Decision Decide(HintsOf hints_of) const;

  const TopologyOptions& options() const { return options_; }
  NodeMask nodes() const { return nodes_; }

 private:
  TopologyManager() = default;
  std::vector<std::vector<Hint>> Lists(std::vector<ResourceHints> hints) const;
  Decision DecisionFor(Hint best) const;
  // The best place that all lists prefer; nullopt: none.
  std::optional<Hint> Agreed(const std::vector<std::vector<Hint>>& lists) const;
  // The best place where they prefer none together.
  Hint Nearest(std::vector<std::vector<Hint>> lists) const;
  PlaceOrder Order() const;

  TopologyOptions options_;
  NodeMask nodes_;
  std::optional<NodeDistances> distances_;  // where places are compared by them
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_TOPOLOGY_MANAGER_TOPOLOGY_MANAGER_H_
