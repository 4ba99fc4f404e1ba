// The surroundings of a pod's workers: one of them for all pods of an agent.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_POD_HOST_H_
#define PLIMSOLL_AGENT_PODS_LIFE_POD_HOST_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/counters/counters.h"
#include "agent/device_manager/device_manager.h"
#include "agent/pods/classes/class_requests.h"
#include "agent/pods/life/object_directory.h"
#include "agent/pods/records/pod_record.h"
#include "agent/pods/records/pod_store.h"
#include "agent/pods/status/event_log.h"
#include "agent/pods/status/pod_board.h"
#include "agent/pods/status/pod_status.h"
#include "base/clock.h"
#include "base/fs_root.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/runtime_client/client.h"
#include "pod_runner/runtime_client/labels.h"
#include "resources/pages.h"

namespace plimsoll::agent {

class Prober;
class PlaceBook;

// Amounts of the node, by its present topology.
struct NodeAmounts {
  int64_t memory_capacity_bytes = 0;  // 0: not known; the kernel's own number counts then
  int64_t swap_capacity_bytes = 0;
  bool operator==(const NodeAmounts&) const = default;
};

// The agent touches no sandbox without this label.
using pod::kAgentLabel;

// The value of this annotation on a container is PodRecord::allocated_generation at its creation.
inline constexpr char kGenerationAnnotation[] = "plimsoll.dev/generation";

// A resize raises the pod's group before its containers and settles it after them.
enum class GroupStep { kRaise, kSettle };

// References outlive the workers. All of it is thread-safe.
struct PodHost {
  pod::Client& client;
  const FsRoot& root;  // "/"
  Clock& clock;
  KubeEventLog& events;
  PodBoard& board;
  PodStore& store;
  PodNode node;
  // The runtime's name, asked once there are containers. Empty, or null: unknown.
  std::function<std::string()> runtime_name = nullptr;
  std::string state_directory;         // pods' directories are below it
  ObjectDirectory* objects = nullptr;  // ConfigMaps and Secrets; null: there are none
  // The runtime's class types of pods (pod::PodContext).
  std::function<std::set<std::string>()> pod_class_types;
  // The classes that a pod asks for; none with gate ClassResources off. Errors of the runtime's.
  std::function<absl::StatusOr<ClassRequests>(const pod::Manifest&)> classes;
  // The runtime's class types; none with gate ClassResources off. Errors of the runtime's.
  std::function<absl::StatusOr<NodeClasses>()> node_classes;
  // Whether a pod may have its classes beside `others`: a new one, or a living one that was
  // `before`. Null: every pod may. See CheckClassAccess.
  std::function<absl::Status(const pod::Manifest* before, const pod::Manifest& pod,
                             const std::vector<const pod::Manifest*>& others)>
      check_classes;
  // An error: nothing may start in the runtime now, as in one that a kubelet uses. Null: all may.
  std::function<absl::Status()> may_start;
  // Gate KubeletContainerResourcesInPodSandbox: requests tell of the pod as a whole (KEP-4112).
  bool passes_resources_down = true;
  // Gate InPlacePodVerticalScaling: resources of living pods change in place (KEP-1287).
  bool resizes_pods = true;
  // The machine's control groups keep CPU shares as given, as those of cgroup v1 do.
  bool keeps_shares = false;
  int64_t page_bytes = resources::PageBytes();  // of this machine
  // Makes the pod's control group and returns CRI's cgroup_parent; null: the runtime's default.
  std::function<absl::StatusOr<std::string>(const PodRecord&, const pod::Manifest&)> make_group;
  // Null as above.
  std::function<absl::Status(const PodRecord&)> remove_group;
  // Gives the pod's group the amounts of a resize. Before it writes anything it calls `announce`,
  // whose error it returns. Null as above.
  std::function<absl::Status(const PodRecord&, const pod::Manifest&, GroupStep,
                             const std::function<absl::Status()>& announce)>
      resize_group;
  // A pod has ended: others may get more. Called without a lock. May be null.
  std::function<void()> on_room;
  // A line for the log; may be null. AgentPods brings its own.
  std::function<void(const std::string&)> note;
  // The runtime has said that it has no UpdatePodSandboxResources.
  std::shared_ptr<std::atomic<bool>> noted_no_pod_updates =
      std::make_shared<std::atomic<bool>>(false);
  // The runtime has taken an update of oom_score_adj and not made it.
  std::shared_ptr<std::atomic<bool>> noted_no_oom_updates =
      std::make_shared<std::atomic<bool>>(false);
  // Devices that pods get for themselves; null: there are none.
  DeviceManager* device_manager = nullptr;
  // The amounts that oom_score_adj and LimitedSwap go by; those of running containers follow them.
  // Null: the kernel's memory, and no swap. Called as AgentPods' `admit` is.
  std::function<NodeAmounts()> node_amounts;
  // The swap that pods may use (KEP-2400).
  pod::SwapBehavior swap = pod::SwapBehavior::kNoSwap;
  pod::SeccompRules seccomp;
  // kubelet's singleProcessOOMKill: the kernel kills one process of a container that has too much
  // memory, and not all. cgroup v1 kills one in any case.
  bool single_process_oom_kill = false;
  // Between two looks at which CPUs running containers have: cpuManagerReconcilePeriod.
  absl::Duration place_period = absl::Seconds(10);
  // Which CPUs and NUMA nodes containers run on. AgentPods brings its own; null: the runtime's
  // choice.
  std::shared_ptr<PlaceBook> places = nullptr;
  std::shared_ptr<Counters> counters = std::make_shared<Counters>();
  Prober* prober = nullptr;  // null: nothing is probed
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_POD_HOST_H_
