// A pod that the agent has taken: all that must survive the agent.
#ifndef PLIMSOLL_AGENT_PODS_RECORDS_POD_RECORD_H_
#define PLIMSOLL_AGENT_PODS_RECORDS_POD_RECORD_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/managers/pod_grant.h"
#include "agent/pods/records/pod_key.h"

namespace plimsoll::agent {

// The pod ended without the runtime: it never ran, or was stopped by the agent.
struct PodVerdict {
  std::string reason;   // "OutOfcpu", "DeadlineExceeded"
  std::string message;  // for people
};

struct PodRecord {
  std::string uid;
  PodKey key;
  // The v1 Pod as it is asked for now: apiVersion, kind, metadata, spec as written.
  nlohmann::json object;
  // The absolute path of the manifest file; empty: the pod came through the API.
  std::string file;
  absl::Time created;
  // The end was asked for then. Nothing of the pod starts from there on.
  std::optional<absl::Time> deleted;
  int64_t grace_s = 30;  // of that end
  std::optional<PodVerdict> verdict;
  // The first of the host's ids of the pod's user namespace; 0: it has none.
  uint32_t first_id = 0;

  // A living pod's spec can change (pod_change.h), and with it `object`. metadata.generation, from
  // 1 on.
  int64_t generation = 1;
  // `generation` as of the resources that the node has given last.
  int64_t allocated_generation = 1;
  // The object whose resources the node has given the pod (kubelet's allocated ones); null: it is
  // `object`. Else a change waits for room.
  nlohmann::json allocated;
  // The reason of that wait: "Deferred", "Infeasible".
  std::optional<PodVerdict> pending;
  // The object whose resources were last in force in all containers (kubelet's actuated ones);
  // null: those allocated are.
  nlohmann::json actuated;
  // Runs that end for a change, so that the next one begins with it: id by container.
  std::map<std::string, std::string> restarting;

  const nlohmann::json& Allocated() const { return allocated.is_null() ? object : allocated; }
  // CPUs, memory and devices that are this pod's alone until it has ended.
  PodGrant grant;
  // The pod has ended, and what it had may be another's.
  bool is_grant_released = false;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RECORDS_POD_RECORD_H_
