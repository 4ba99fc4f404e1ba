// Learns the node's topology: from the runtime, or from the machine.
#ifndef PLIMSOLL_AGENT_NODE_DISCOVERY_H_
#define PLIMSOLL_AGENT_NODE_DISCOVERY_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/node/node_options.h"
#include "agent/node/runtime_topology.h"
#include "base/fs_root.h"
#include "base/retry_delay.h"
#include "topology/zones/zone.h"

namespace plimsoll::agent {

enum class TopologySource { kNone, kRuntime, kLocal };
enum class TopologyUse {
  kUsed,
  kUnusable,  // another one is needed
  kFailed,    // for a reason that may pass: the same one is to be told again
};

// Called from the discovery's thread, one call at a time.
class DiscoveryResults {
 public:
  virtual ~DiscoveryResults() = default;
  virtual void OnRuntime(const std::string& version) = 0;
  // An error is a message that is no topology, or a machine that can't be read.
  virtual TopologyUse OnTopology(TopologySource source,
                                 absl::StatusOr<topology::Topology> topology) = 0;
  // The runtime can't be reached, or its stream has ended: the next attempt follows.
  virtual void OnLost(const absl::Status& why) = 0;
  // Mode kCri: the runtime has no such call. The next attempt follows: it may be updated.
  virtual void OnUnsupported(const absl::Status& why) = 0;
  // Mode kAuto: the runtime has no such call, so the machine's own topology follows.
  virtual void OnFallBack(const absl::Status& why) = 0;
};

// One thread, from Start to the destructor, which ends it soon. It asks the runtime for its version
// and follows its stream, again and again. Where the machine's own topology is asked for, it is
// read until it can be used, then after each change of the machine if hot_plug is on; and the
// runtime's version is asked for until it is known.
//
// UNIMPLEMENTED counts only until the runtime's first message: a runtime that had the call once,
// and lost it in a restart, counts as lost, since the node keeps its numbers anyway.
class Discovery {
 public:
  // Reads the machine's own topology. A failure is tried again.
  using ReadLocal = std::function<absl::StatusOr<topology::Topology>()>;
  // Watches the machine while the result lives: calls `changed`, from any thread, after each change
  // of its topology. Destroying the result waits for a call under way.
  using WatchLocal = std::function<std::shared_ptr<void>(std::function<void()> changed)>;
  struct Local {
    ReadLocal read;
    WatchLocal watch;
  };
  Discovery(const NodeOptions& options, RetryDelayOptions back_off,
            std::unique_ptr<RuntimeTopology> runtime, Local local, DiscoveryResults* results);
  ~Discovery();
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

 private:
  void Run();
  void RunLocal();
  void RunRemote();
  // True: the machine's own topology is to be used.
  bool FollowOnce();
  absl::Status AskVersion();
  // False: the end has come.
  bool Rest();
  // Waits for a change of the machine, at most that long. False: the end has come.
  bool AwaitChange(absl::Duration at_most);
  bool HasNews() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ending_ || has_changed_; }
  bool is_ending() const;

  const DiscoveryMode mode_;
  const bool hot_plug_;
  const std::unique_ptr<RuntimeTopology> runtime_;
  const Local local_;
  DiscoveryResults* const results_;
  RetryDelay back_off_;    // the thread's own, as the next
  bool was_told_ = false;  // by the runtime
  mutable absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool has_changed_ ABSL_GUARDED_BY(mutex_) = false;  // the machine, since it was read
  std::thread thread_;
};

// The machine's own topology, as plimsolld would tell it without a partition.
absl::StatusOr<topology::Topology> ReadLocalTopology(const FsRoot& host);
// Hears the kernel's events of CPUs and memory, and looks every few seconds for changes without an
// event.
std::shared_ptr<void> WatchLocalTopology(const FsRoot& host, std::function<void()> changed);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_DISCOVERY_H_
