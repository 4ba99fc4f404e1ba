// The pods of an agent, for those who ask for them: the socket's API and the manifest directory.
#ifndef PLIMSOLL_AGENT_PODS_STATUS_POD_SERVICE_H_
#define PLIMSOLL_AGENT_PODS_STATUS_POD_SERVICE_H_

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/pods/records/pod_key.h"

namespace plimsoll::agent {

// Thread-safe. Pods, the node and events are given as Kubernetes' v1 objects: a Pod has its spec as
// it was written and the status that the agent reports.
class PodService {
 public:
  virtual ~PodService() = default;

  // Takes all new pods of a manifest, or none. A pod that is there already, with the same spec, is
  // left as it is; others change in place, one after the other: a full disk can come between two.
  // Returns each pod in the manifest's order.
  //
  // INVALID_ARGUMENT: the text is no manifest that Plimsoll runs; FAILED_PRECONDITION: a pod is
  // there with another spec, and the difference can't be made in place, or the pod is of a file.
  virtual absl::StatusOr<std::vector<nlohmann::json>> Apply(absl::string_view text,
                                                            absl::string_view file) = 0;
  // Begins the end of a pod and returns at once. `grace_s`: seconds between the stop signal and
  // SIGKILL, nullopt for the pod's own. A later, shorter grace period overtakes an earlier one.
  // NOT_FOUND; FAILED_PRECONDITION: the pod is of a file, which would bring it back.
  virtual absl::Status Delete(const PodKey& pod, std::optional<int64_t> grace_s) = 0;

  // NOT_FOUND names the pod.
  virtual absl::StatusOr<nlohmann::json> Get(const PodKey& pod) const = 0;
  // Sorted by namespace and name. An empty namespace: all pods.
  virtual std::vector<nlohmann::json> List(const std::string& pod_namespace) const = 0;

  enum class Change { kAdded, kModified, kDeleted };
  // Calls `change` with each pod that is there (kAdded), then with each change, in this thread. A
  // null object: nothing happened for a while, a second at most. Returns once `change` returns
  // false. Changes of one pod that come faster than `change` returns are given as one.
  using OnChange = std::function<bool(Change, const nlohmann::json* pod)>;
  virtual void Watch(const std::string& pod_namespace, const OnChange& change) const = 0;

  // The log file of a container, in the CRI's format; of its run before the present one if
  // `previous`. An empty container name: the pod's only one. NOT_FOUND names what is missing;
  // INVALID_ARGUMENT: the pod has several containers, all of which the message names.
  virtual absl::StatusOr<std::string> LogPath(const PodKey& pod, const std::string& container,
                                              bool previous) const = 0;
  // The URL of the runtime's streaming server for one command. Errors as LogPath's, and the
  // runtime's.
  virtual absl::StatusOr<std::string> ExecUrl(const PodKey& pod, const std::string& container,
                                              const std::vector<std::string>& command, bool input,
                                              bool terminal) = 0;
  // Changes requests and limits in place (KEP-1287). `patch` is a v1 Pod with the containers' names
  // and new `resources`. Returns the pod. UNIMPLEMENTED while gate InPlacePodVerticalScaling is
  // off.
  virtual absl::StatusOr<nlohmann::json> Resize(const PodKey& pod, const nlohmann::json& patch) = 0;

  virtual nlohmann::json Node() const = 0;
  // v1 Events, oldest first; of one pod, or of everything.
  virtual std::vector<nlohmann::json> Events(const std::optional<PodKey>& pod) const = 0;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_STATUS_POD_SERVICE_H_
