// The surroundings of a pod's workers: one of them for all pods of an agent.
#ifndef PLIMSOLL_AGENT_PODS_POD_HOST_H_
#define PLIMSOLL_AGENT_PODS_POD_HOST_H_

#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/pods/class_requests.h"
#include "agent/pods/event_log.h"
#include "agent/pods/pod_board.h"
#include "agent/pods/pod_record.h"
#include "agent/pods/pod_status.h"
#include "agent/pods/pod_store.h"
#include "base/clock.h"
#include "base/fs_root.h"
#include "pod/client.h"
#include "pod/manifest.h"

namespace plimsoll::agent {

// The value of this label on the agent's sandboxes and containers is its node's name. The agent
// touches no sandbox without it.
inline constexpr char kAgentLabel[] = "plimsoll.dev/agent";

// References outlive the workers. All of it is thread-safe.
struct PodHost {
  pod::Client& client;
  const FsRoot& root;  // "/"
  Clock& clock;
  EventLog& events;
  PodBoard& board;
  PodStore& store;
  NodeFacts node;
  std::string state_directory;    // pods' directories are below it
  std::string objects_directory;  // of ConfigMaps and Secrets; empty: there are none
  // The runtime's class types of pods (pod::PodContext).
  std::function<std::set<std::string>()> pod_class_types;
  // The classes that a pod asks for; none with gate ClassResources off. Errors of the runtime's.
  std::function<absl::StatusOr<ClassRequests>(const pod::Manifest&)> classes;
  // An error: nothing may start in the runtime now, as in one that a kubelet uses. Null: all may.
  std::function<absl::Status()> may_start;
  // Gate KubeletContainerResourcesInPodSandbox: requests tell of the pod as a whole (KEP-4112).
  bool passes_resources_down = true;
  // Makes the pod's control group and returns CRI's cgroup_parent; null: the runtime's default.
  std::function<absl::StatusOr<std::string>(const PodRecord&, const pod::Manifest&)> make_group;
  // Null as above.
  std::function<absl::Status(const PodRecord&)> remove_group;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_POD_HOST_H_
