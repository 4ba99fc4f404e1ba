// A Node's conditions of plimsoll-kube. True means trouble, as with kubelet's pressure conditions.
//
//   PlimsollUnavailable      plimsolld doesn't answer; the others are Unknown
//   PlimsollClassesDrifted   holders for which the kernel differs from their class
//   PlimsollPartitionLost    the partition that is configured isn't in force as it is
//   PlimsollTopologyUnknown  plimsolld has no topology to tell
//   PlimsollDegraded         any other lasting fault; its reason is the fault's
#ifndef PLIMSOLL_KUBE_PUBLISH_NODE_CONDITIONS_H_
#define PLIMSOLL_KUBE_PUBLISH_NODE_CONDITIONS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "kube/link/runtime_link.h"

namespace plimsoll::kube {

struct NodeCondition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;  // in CamelCase
  std::string message;
  bool operator==(const NodeCondition&) const = default;
};

inline constexpr char kUnavailable[] = "PlimsollUnavailable";
inline constexpr char kClassesDrifted[] = "PlimsollClassesDrifted";
inline constexpr char kPartitionLost[] = "PlimsollPartitionLost";
inline constexpr char kTopologyUnknown[] = "PlimsollTopologyUnknown";
inline constexpr char kDegraded[] = "PlimsollDegraded";

// All conditions, in the order above. Messages have at most 1,000 bytes.
std::vector<NodeCondition> ConditionsOf(const NodeReport& report);
// The conditions of a node whose plimsolld doesn't answer.
std::vector<NodeCondition> ConditionsWithoutRuntime();

// Conditions of these types in the Node's status.
std::vector<NodeCondition> OwnConditionsOf(const nlohmann::json& node);

// The strategic merge patch of the Node's status after which it has the wanted conditions, those of
// others as they are, and none of the types above that isn't wanted; null: nothing is to be done.
// lastTransitionTime changes with the status only, lastHeartbeatTime with each patch.
nlohmann::json ConditionsPatch(const nlohmann::json& node, const std::vector<NodeCondition>& wanted,
                               absl::Time now);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_NODE_CONDITIONS_H_
