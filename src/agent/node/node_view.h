// The agent's node: its numbers, whether it is ready, and the v1 Node (KEP-5224 "kubelet").
#ifndef PLIMSOLL_AGENT_NODE_NODE_VIEW_H_
#define PLIMSOLL_AGENT_NODE_NODE_VIEW_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/node/conditions.h"
#include "agent/node/discovery.h"
#include "agent/node/machine_facts.h"
#include "agent/node/node_object.h"
#include "agent/node/node_options.h"
#include "agent/node/runtime_topology.h"
#include "base/clock.h"
#include "base/fs_root.h"
#include "base/retry_delay.h"
#include "topology/zones/maps.h"
#include "topology/zones/zone.h"

namespace plimsoll::agent {

// Reasons of condition Ready.
inline constexpr char kNodeReadyReason[] = "KubeletReady";
inline constexpr char kNodeNotReadyReason[] = "KubeletNotReady";       // SetRuntimeTrouble
inline constexpr char kTopologyPending[] = "TopologyPending";          // none yet
inline constexpr char kTopologyUnusable[] = "TopologyUnusable";        // the last one can't be used
inline constexpr char kTopologyUnsupported[] = "TopologyUnsupported";  // and mode kCri needs it

// The reason of an event: the node has taken another topology.
inline constexpr char kCapacityChanged[] = "NodeCapacityChanged";

// An event about the node.
struct NodeStatusEvent {
  bool is_warning = false;
  // A reason of Ready, kCapacityChanged, or kubelet's NodeReady and NodeNotReady.
  std::string reason;
  std::string message;
};

// A topology's numbers, as a node has them; without extended resources.
struct NodeNumbers {
  ResourceList capacity;
  ResourceList allocatable;
  std::shared_ptr<const topology::MachineMaps> maps;
};

// Called from the node's own thread, AwaitFirst and SetRuntimeTrouble, without a lock: they may ask
// the node, but not destroy it. Each may be null.
struct NodeHooks {
  std::function<void()> on_change;  // State or Object differ from before
  // The first usable topology, and with gate NodeResourceHotPlug each other one, before the node
  // shows it: the managers are made again. An error makes it unusable (TopologyUnusable), and
  // everything stays as it was. After another error than FAILED_PRECONDITION the same topology is
  // soon tried again. Called from the node's own thread alone.
  std::function<absl::Status(const NodeNumbers& now, bool is_first)> adopt;
  std::function<void(const NodeStatusEvent&)> on_event;
  std::function<void(const std::string&)> on_log;  // a line for the log
};

struct NodeState {
  bool ready = false;
  std::string reason;
  std::string message;
  // The capacity by the last usable topology; with gate NodeResourceHotPlug off, by the first one.
  // Empty before it.
  ResourceList capacity;
  ResourceList allocatable;
  std::shared_ptr<const topology::MachineMaps> maps;  // null before it
  TopologySource source = TopologySource::kNone;
  std::string stream_error;  // why the runtime's stream is down; empty: it isn't, or none is used
};

// Thread-safe. NotReady means that new pods are refused; running pods are none of its business.
//
//   first topology usable        Ready, with its numbers
//   none within the limit        NotReady (TopologyPending), until one comes
//   one that can't be used       NotReady (TopologyUnusable), with an event and a log line; numbers
//                                of a good one before it stay; the next good one ends it
//   another good one             its numbers, with an event and a log line that tell the
//   difference;
//                                with gate NodeResourceHotPlug off only the log line
//   stream lost                  everything stays; a log line; tried again and again
//   no such call in the runtime  the machine's own topology; in mode kCri NotReady
class NodeView : private DiscoveryResults {
 public:
  struct Parts {
    FsRoot host;  // "/"
    std::unique_ptr<RuntimeTopology> runtime;
    NodeHooks hooks;
    RetryDelayOptions back_off;
    Clock* clock = &Clock::Real();
    Discovery::Local local;  // null members: ReadLocalTopology, WatchLocalTopology
  };
  // Begins the discovery. INVALID_ARGUMENT as CheckNodeOptions, or a host name that can't be a
  // node's while none is configured.
  static absl::StatusOr<std::unique_ptr<NodeView>> Start(NodeOptions options, Parts parts);
  ~NodeView() override;
  NodeView(const NodeView&) = delete;
  NodeView& operator=(const NodeView&) = delete;

  // For the agent's start: waits until the first topology was used or refused, or the limit or the
  // caller's patience, asked many times a second, is over. True: the node is ready.
  bool AwaitFirst(const std::function<bool()>& is_to_stop = [] { return false; });

  // The runtime's other troubles, by CRI Status: not ready, or no answer. They make a node with a
  // usable topology NotReady (KubeletNotReady) until `why` is empty.
  void SetRuntimeTrouble(const std::string& why);

  // The extended resources, which come and go with their devices. One that goes stays with the
  // amount 0, as in kubelet: it shows that this node has had it.
  void SetExtended(const ResourceList& capacity, const ResourceList& allocatable);

  const std::string& name() const { return name_; }
  // The node's InternalIP; empty: it has none.
  std::string address() const { return NodeAddress(options_, facts_); }
  NodeState State() const;
  // A v1 Node.
  nlohmann::json Object() const;
  // Messages that the runtime's streams brought: cri_dynamic_runtime_config_responses_total.
  uint64_t response_count() const { return responses_; }

 private:
  struct Verdict {
    bool ready = false;
    std::string reason;
    std::string message;
  };
  struct Change {
    Verdict now;
    bool is_new = false;  // else there is nothing to tell
    bool turned = false;  // ready became not ready, or the reverse
  };
  struct Shown {
    Verdict of_topology;
    std::string runtime_trouble;
    Conditions conditions;  // of both
    NodePicture picture;    // without extended resources
    ResourceList extended_capacity;
    ResourceList extended_allocatable;
    std::shared_ptr<const topology::MachineMaps> maps;
    TopologySource source = TopologySource::kNone;
    std::string stream_error;
    bool is_decided = false;     // used, refused or unsupported
    bool is_limit_over = false;  // and nothing was decided before
  };
  struct Seen {
    topology::Topology topology;
    topology::MachineMaps maps;
  };

  NodeView(NodeOptions options, MachineFacts facts, NodeHooks hooks, Clock* clock);

  void OnRuntime(const std::string& version) override;
  TopologyUse OnTopology(TopologySource source,
                         absl::StatusOr<topology::Topology> topology) override;
  void OnLost(const absl::Status& why) override;
  void OnUnsupported(const absl::Status& why) override;
  void OnFallBack(const absl::Status& why) override;

  absl::Status Use(TopologySource source, absl::StatusOr<topology::Topology> topology);
  // Takes another topology than the last one. Errors leave everything as it was.
  absl::Status Adopt(TopologySource source, const Seen& seen);
  absl::StatusOr<NodeNumbers> NumbersOf(const topology::MachineMaps& maps) const;
  void Show(TopologySource source, const Seen& seen, const NodeNumbers& numbers);
  NodePicture Picture() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnStreamBack();
  void Judge(Verdict of_topology);
  // Makes condition Ready of both verdicts.
  Change Combine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(const Change& change) const;
  // No topology yet: `why` may be empty.
  void SetPending(absl::string_view why);
  void Log(const std::string& line) const;
  // Waits until then at the most.
  bool IsDecidedBy(absl::Time end);
  bool IsDecided() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return shown_.is_decided; }

  const NodeOptions options_;
  const MachineFacts facts_;
  const std::string name_;
  const NodeHooks hooks_;
  Clock* const clock_;
  const absl::Time created_;
  std::atomic<uint64_t> responses_ = 0;
  std::optional<Seen> seen_;  // the last usable topology; the discovery's thread's own
  mutable absl::Mutex mutex_;
  Shown shown_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Discovery> discovery_;  // last: its thread calls this
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_NODE_VIEW_H_
