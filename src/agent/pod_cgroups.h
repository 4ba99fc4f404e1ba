// The control groups of pods, opened when the first pod needs one.
#ifndef PLIMSOLL_AGENT_POD_CGROUPS_H_
#define PLIMSOLL_AGENT_POD_CGROUPS_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/config.h"
#include "agent/groups/pod_groups.h"
#include "agent/groups/reserved_groups.h"
#include "agent/node/node_view.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/records/pod_record.h"
#include "base/fs_root.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::agent {

// Thread-safe. Waits until a pod comes because the driver is the runtime's to tell, and the limits
// of kubepods are the node's: neither is known when an agent starts before its runtime.
class PodCgroups {
 public:
  struct Options {
    std::string driver;  // AgentConfig::cgroup_driver
    std::string root;
    int64_t pod_pids_limit = -1;
    // Taken from the node's capacity: the rest is kubepods' (EnforcedReservation).
    ResourceList reserved;
    std::vector<ReservedGroup> reserved_groups;
    FsRoot host;   // "/"
    FsRoot state;  // the agent's
    std::function<NodeState()> node;
    // The uids of all pods on record: groups of others, which an agent before this one made, go.
    std::function<absl::StatusOr<std::set<std::string>>()> living;
    std::function<void(const std::string&)> note;  // a line for the log
    // An event of the node.
    std::function<void(bool is_warning, const std::string& reason, const std::string& message)>
        event;
  };
  // `client` outlives this.
  PodCgroups(pod::Client& client, Options options)
      : client_(client), options_(std::move(options)) {}

  // Makes the pod's group. Returns the CRI's cgroup_parent. Errors of PodGroups and the runtime.
  absl::StatusOr<std::string> Make(const PodRecord& record, const pod::Manifest& pod);
  // A step of a resize. Before it writes anything it calls `announce`, whose error it returns. OK
  // for a pod without a group: it began when the agent made none. Errors of PodGroups::Update.
  absl::Status Resize(const PodRecord& record, const pod::Manifest& pod, GroupStep step,
                      const std::function<absl::Status()>& announce);
  // OK for a pod without a group.
  absl::Status Remove(const PodRecord& record);
  // Holds kubepods and the reserved groups to the node's amounts: at once where these have changed,
  // and else each minute, as kubelet does. Where the kernel refuses a limit, since a group uses
  // more, an event says so. Call it after each change of the node, and every few seconds. Does
  // nothing while the node has no topology or the runtime doesn't answer.
  void Enforce();

 private:
  // The last attempt.
  struct Enforced {
    std::optional<Allocatable> amounts;  // nullopt: none yet
    absl::Time at = absl::InfinitePast();
    std::map<std::string, bool> is_in_force;  // by group
  };

  absl::StatusOr<PodGroups*> Groups();
  absl::StatusOr<CgroupDriver> Driver();
  Allocatable Wanted(const NodeState& node) const;
  void EnforceNow(PodGroups& groups, const Allocatable& wanted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(enforce_mutex_);
  // An event for each failure, and for each success after none or a failure.
  void Tell(const std::string& group, const std::string& name, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(enforce_mutex_);

  pod::Client& client_;
  const Options options_;
  absl::Mutex mutex_;
  std::unique_ptr<PodGroups> groups_ ABSL_GUARDED_BY(mutex_);
  absl::Mutex enforce_mutex_;  // held over an attempt; taken before mutex_
  Enforced enforced_ ABSL_GUARDED_BY(enforce_mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_POD_CGROUPS_H_
