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
#include "topology/zone.h"

namespace plimsoll::agent {

enum class TopologySource { kNone, kRuntime, kLocal };

// Called from the discovery's thread, one call at a time.
class DiscoveryResults {
 public:
  virtual ~DiscoveryResults() = default;
  virtual void OnRuntime(const std::string& version) = 0;
  // An error is a message that is no topology, or a machine that can't be read. False: it can't be
  // used; the machine's own is then read again.
  virtual bool OnTopology(TopologySource source, absl::StatusOr<topology::Topology> topology) = 0;
  // The runtime can't be reached, or its stream has ended: the next attempt follows.
  virtual void OnLost(const absl::Status& why) = 0;
  // Mode kCri: the runtime has no such call. The next attempt follows: it may be updated.
  virtual void OnUnsupported(const absl::Status& why) = 0;
  // Mode kAuto: the runtime has no such call, so the machine's own topology follows.
  virtual void OnFallBack(const absl::Status& why) = 0;
};

// One thread, from Start to the destructor, which ends it soon. It asks the runtime for its version
// and follows its stream, again and again. Where the machine's own topology is asked for, it is
// used once, and only the runtime's version is still asked for until it is known.
//
// UNIMPLEMENTED counts only until the runtime's first message: a runtime that had the call once,
// and lost it in a restart, counts as lost, since the node keeps its first numbers anyway.
class Discovery {
 public:
  // Reads the machine's own topology. A failure is tried again.
  using ReadLocal = std::function<absl::StatusOr<topology::Topology>()>;
  Discovery(const NodeOptions& options, RetryDelayOptions back_off,
            std::unique_ptr<RuntimeTopology> runtime, ReadLocal read_local,
            DiscoveryResults* results);
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
  bool is_ending() const;

  const DiscoveryMode mode_;
  const std::unique_ptr<RuntimeTopology> runtime_;
  const ReadLocal read_local_;
  DiscoveryResults* const results_;
  RetryDelay back_off_;    // the thread's own, as the next
  bool was_told_ = false;  // by the runtime
  mutable absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

// The machine's own topology, as plimsolld would tell it without a partition.
absl::StatusOr<topology::Topology> ReadLocalTopology(const FsRoot& host);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_DISCOVERY_H_
