// The agent's node, wired: its topology makes the managers, its news are events.
#ifndef PLIMSOLL_AGENT_NODE_WIRING_H_
#define PLIMSOLL_AGENT_NODE_WIRING_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "agent/config.h"
#include "agent/counters/counters.h"
#include "agent/device_manager/device_manager.h"
#include "agent/managers/node_managers.h"
#include "agent/node/node_view.h"
#include "agent/pod_cgroups.h"
#include "agent/pods/life/pod_host.h"
#include "agent/pods/records/pod_store.h"
#include "agent/pods/status/event_log.h"
#include "agent/pods_place.h"
#include "base/fs_root.h"
#include "pod_runner/runtime_client/client.h"
#include "service/logging.h"
#include "topology/zones/maps.h"

namespace plimsoll::agent {

// The subject of the node's events.
InvolvedObject NodeSubject(const AgentConfig& config);

// Thread-safe after Start. Each usable topology waits until there are pods: their grants say
// whether it fits. End the place of the pods before this.
class NodeWiring {
 public:
  // References outlive this. An error of Start ends `pods`.
  struct Surroundings {
    const AgentConfig& config;
    Log* log;
    KubeEventLog& events;
    const FsRoot& root;   // "/"
    const FsRoot& state;  // AgentConfig::state_directory
    PodStore& store;
    pod::Client& client;
    PodsPlace& pods;
    Counters& counters;
  };
  // Errors: a configuration that CheckNodeOptions or ManagerOptionsOf refuses, plugins' sockets
  // that can't be served.
  static absl::StatusOr<std::unique_ptr<NodeWiring>> Start(const std::string& version,
                                                           Surroundings around);
  ~NodeWiring();
  NodeWiring(const NodeWiring&) = delete;
  NodeWiring& operator=(const NodeWiring&) = delete;

  NodeView& node() const { return *node_; }
  DeviceManager& devices() const { return *devices_; }
  PodCgroups* cgroups() const { return cgroups_.get(); }  // null: the runtime makes pods' groups
  // See PodCgroups::Enforce.
  void Enforce() {
    if (cgroups_ != nullptr) cgroups_->Enforce();
  }
  // The managers of the topology in use; null: none is yet.
  std::shared_ptr<const NodeManagers> managers() const;
  // By the topology that is taken, or is about to be.
  NodeAmounts Amounts() const;
  // Waits for the first topology, for a limited time. FAILED_PRECONDITION: pods on record have
  // CPUs or memory that they couldn't have now, and gate NodeResourceHotPlug is off. CANCELLED:
  // `is_to_stop` said so.
  absl::Status AwaitFirst(const std::function<bool()>& is_to_stop);

 private:
  NodeWiring(ManagerOptions options, Surroundings around);

  void MakeCgroups();
  absl::Status StartNode(const std::string& version);
  absl::Status StartDevices();
  // Takes pods that the node as it is now has room for, and holds their groups to it.
  void OnChange();
  void OnDevices();
  absl::Status Adopt(const NodeNumbers& now, bool is_first);
  // With the reserved CPUs that are the node's. FAILED_PRECONDITION: the machine lacks one.
  absl::StatusOr<ManagerOptions> OptionsFor(const topology::MachineMaps& maps) const;
  NodeAmounts SetAmounts(NodeAmounts amounts);
  void Warn(absl::string_view message) const;
  void TellOfSwap();
  void AddEvent(bool is_warning, const std::string& reason, const std::string& message);

  const ManagerOptions options_;
  const Surroundings around_;
  absl::Mutex telling_;  // so that the node's last numbers of devices are the latest; taken first
  mutable absl::Mutex mutex_;
  NodeAmounts amounts_ ABSL_GUARDED_BY(mutex_);
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);  // of the first topology
  std::shared_ptr<const NodeManagers> managers_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<PodCgroups> cgroups_;
  std::unique_ptr<NodeView> node_;          // its thread uses the above
  std::unique_ptr<DeviceManager> devices_;  // its threads use the node
  // Set with devices_, which its threads may be earlier than.
  bool has_devices_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_WIRING_H_
