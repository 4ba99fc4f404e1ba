// The objects that a cluster needs for Plimsoll's classes, as YAML for `kubectl apply -f -`:
// nothing of it needs a webhook's server.
//
//   ManifestOptions options;
//   options.classes = {{qos::Level::kContainer, "rdt", "gold"}};
//   PLIMSOLL_ASSIGN_OR_RETURN(const std::string yaml, Manifests(options));
#ifndef PLIMSOLL_KUBE_MANIFESTS_MANIFESTS_H_
#define PLIMSOLL_KUBE_MANIFESTS_MANIFESTS_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "qos/class_devices.h"

namespace plimsoll::kube {

// A part of the output.
enum class ManifestPart {
  kClasses,    // a DeviceClass for each class
  kPolicies,   // admission policies: annotations to resources, names, namespaces' lists
  kRbac,       // namespace, service account, role, and the policy that binds it to its node
  kDaemonSet,  // plimsoll-kube on each node
  kQuota,      // a ResourceQuota with each key of each class, for a namespace
};

struct ManifestOptions {
  // The namespace of plimsoll-kube's service account and DaemonSet.
  std::string name_space = "plimsoll-system";
  std::string image = "plimsoll-kube:latest";
  // All classes that a node of the cluster has; duplicates count once. At most kMostClasses.
  std::vector<qos::ClassId> classes;
  // Empty: all but the quota.
  std::set<ManifestPart> parts;
  // Whether a namespace without a list of classes (annotation kAllowedClasses) may use none.
  bool closed = false;
  // kubelet's directory on the nodes.
  std::string kubelet_root = "/var/lib/kubelet";
  // Directory of plimsolld's cluster socket (cluster.sock) on the nodes. It is mounted as a whole,
  // so the socket of the CRI must not be there.
  std::string socket_dir = "/run/plimsoll/cluster";
  // Label "key=value" of the nodes that have plimsolld; empty: each Linux node.
  std::string node_label;
};

inline constexpr size_t kMostClasses = 500;
// A namespace's list: names as "rdt.gold" (what follows "class.plimsoll.dev/"), separated by
// commas, or "*".
inline constexpr char kAllowedClasses[] = "class.plimsoll.dev/allowed";
inline constexpr char kServiceAccount[] = "plimsoll-kube";

// Documents separated by "---", the same for the same options. INVALID_ARGUMENT names the option
// and what would be valid.
absl::StatusOr<std::string> Manifests(const ManifestOptions& options);

// Whether a part that is wanted depends on the classes.
bool NeedsClasses(const ManifestOptions& options);

// "classes", "policies", "rbac", "daemonset", "quota".
absl::StatusOr<ManifestPart> ParseManifestPart(absl::string_view name);
// A class of a flag: "rdt=gold".
absl::StatusOr<qos::ClassId> ParseClass(qos::Level level, absl::string_view text);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_MANIFESTS_MANIFESTS_H_
