// A pod's status as Kubernetes reports it (kubelet's generateAPIPodStatus).
#ifndef PLIMSOLL_AGENT_PODS_STATUS_POD_STATUS_H_
#define PLIMSOLL_AGENT_PODS_STATUS_POD_STATUS_H_

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "agent/device_manager/device_stock.h"
#include "agent/pods/records/observed_pod.h"
#include "agent/pods/records/pod_record.h"
#include "agent/probes/probe_kind.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// The reason for which a container doesn't run now: "CrashLoopBackOff", "ErrImagePull".
struct Waiting {
  std::string reason;
  std::string message;
  std::string of;  // the run that ended, by its container's id; not shown
};

// The same for all pods of a node.
struct PodNode {
  std::string name;
  std::string host_ip;  // empty: unknown
};

struct PodSituation {
  const PodRecord& record;
  const pod::Manifest& manifest;
  const ObservedPod& observed;
  std::optional<PodEnd> end;               // as planned
  std::map<std::string, Waiting> waiting;  // by container
  std::string failure;                     // the sandbox can't be made: the runtime's words
  std::string resize_failure = "";         // likewise, of a resize under way
  bool shows_resources = true;             // gate InPlacePodVerticalScaling
  // By a running container's id. One without an entry has no probes.
  std::map<std::string, ContainerHealth> health = {};
  DeviceStock devices = {};  // those of the node, with their health
  std::string runtime = "";  // its name, the scheme of container ids: "plimsoll"
};

// The record's object with metadata and status filled in. `before` is the object reported last, for
// the times of its conditions' transitions; null: none.
nlohmann::json PodObject(const PodSituation& pod, const PodNode& node, const nlohmann::json& before,
                         absl::Time now);

// The same of a pod that the agent has not looked at since its start: phase Unknown, and its
// containers' states too. The record's object is that of a manifest that could be read.
nlohmann::json UnseenPodObject(const PodRecord& record, const std::string& node);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_STATUS_POD_STATUS_H_
