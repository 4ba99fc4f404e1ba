// The object NodeResourceTopology (topology.node.k8s.io/v1alpha2) of a node, from which scheduler
// plugins read where on the node something is free.
#ifndef PLIMSOLL_KUBE_PUBLISH_TOPOLOGY_OBJECT_H_
#define PLIMSOLL_KUBE_PUBLISH_TOPOLOGY_OBJECT_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/statusor.h"
#include "kube/link/runtime_link.h"
#include "kube/publish/publish_options.h"

namespace plimsoll::kube {

inline constexpr char kTopologiesPath[] =
    "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies";
// The label by which an object is known as plimsoll-kube's. An object without it is another
// exporter's.
inline constexpr char kManagedBy[] = "app.kubernetes.io/managed-by";
inline constexpr char kManager[] = "plimsoll-kube";

// An object of more bytes goes without its innermost zones (Core, then CacheGroup, then all but
// NUMA nodes), then without attributes and costs. Its attribute kLeftOut names them.
inline constexpr size_t kLargestTopology = 64 << 10;
inline constexpr char kLeftOut[] = "plimsoll.dev/left-out";
// A zone's attribute: the name that plimsolld gives it, where the object has another.
inline constexpr char kOwnName[] = "plimsoll.dev/zone";

struct NodeIdentity {
  std::string name;
  std::string uid;
};

// The zones are KEP-5224's, in their order, but for two things that the plugins expect:
// - A NUMA node with a number below 64 is named "node-<number>" and of type "Node".
// - A NUMA node has the CPUs of all zones in it, which have none (zone_amounts.h).
// Allocatable is the capacity: plimsolld reports the pods' part of the node. Kubelet's policy and
// scope are shown if there is such a zone, since by them the plugins demand one.
//
// NOT_FOUND: the report has no topology. INVALID_ARGUMENT: its zones don't make a tree.
// RESOURCE_EXHAUSTED: its NUMA nodes alone are more than kLargestTopology.
absl::StatusOr<nlohmann::json> TopologyObjectOf(const NodeReport& report, const NodeIdentity& node,
                                                const PublishOptions& options);

// The merge patch that gives `present` the zones, attributes, label and owner of `wanted`; null: it
// has them. The patch holds for `present`'s resourceVersion only.
nlohmann::json TopologyPatch(const nlohmann::json& present, const nlohmann::json& wanted);

// The object has the label kManagedBy with kManager.
bool IsOwnTopology(const nlohmann::json& object);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_PUBLISH_TOPOLOGY_OBJECT_H_
