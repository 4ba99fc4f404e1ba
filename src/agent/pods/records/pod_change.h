// The difference between two manifests of one pod, and whether a living pod takes it.
#ifndef PLIMSOLL_AGENT_PODS_RECORDS_POD_CHANGE_H_
#define PLIMSOLL_AGENT_PODS_RECORDS_POD_CHANGE_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "agent/pods/records/pod_key.h"

namespace plimsoll::agent {

// Labels, annotations and spec count: the parts of a v1 Pod that a user writes.
struct PodChange {
  bool any = false;
  // The parts that can change while the pod lives: requests and limits; QoS classes.
  bool amounts = false;
  bool classes = false;
  // The first place that a pod keeps for life, as "/spec/containers/0/command"; empty: all that
  // differs can change while the pod lives.
  std::string fixed;

  bool in_place() const { return any && fixed.empty(); }
};

// A living pod takes other requests and limits of cpu and memory, and other classes: of its
// containers, its sidecars and of itself (KEP-1287, KEP-2837, KEP-3008). Both are v1 Pods that
// pod::ParseManifests takes.
PodChange ChangeOf(const nlohmann::json& before, const nlohmann::json& after);

// FAILED_PRECONDITION in an API server's words. `change.fixed` is not empty.
absl::Status ForbiddenChange(const PodKey& pod, const PodChange& change);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RECORDS_POD_CHANGE_H_
