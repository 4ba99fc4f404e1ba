// The daemon's liveness and readiness, for /healthz, /readyz, the CRI's Status and `plimsoll daemon
// status`. docs/metrics.md has each condition's meaning.
#ifndef PLIMSOLL_DAEMON_TELEMETRY_NODE_HEALTH_H_
#define PLIMSOLL_DAEMON_TELEMETRY_NODE_HEALTH_H_

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "cri/calls/lanes.h"
#include "daemon/telemetry/slow_question.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/engine.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::daemon {

struct HealthCondition {
  std::string name;     // one word in CamelCase
  absl::Status status;  // OK: it holds
  // Without it the daemon isn't ready. The other conditions are only reported.
  bool is_required = true;
};

// UNAVAILABLE if a call that depends on nothing else has waited half a minute for a thread. Calls
// that wait for commands, grace periods, registries and plugins may take long.
absl::Status CallsGetTheirTurn(const std::vector<cri::LaneState>& lanes);

// FAILED_PRECONDITION "DiskFull: ..." if the state directory's file system has less room than the
// database needs for any record.
absl::Status HasRoomToRecord(const FsRoot& state);
// FAILED_PRECONDITION "DiskFull: ..." if the run directory's file system has no room for a pod's
// files.
absl::Status HasRoomToRun(const FsRoot& run);

// Thread-safe.
class NodeHealth {
 public:
  struct Parts {
    FsRoot host;
    FsRoot state;
    FsRoot run;
    std::string state_directory;
    std::string run_directory;
    // All outlive this.
    const runtime::ContainerRuntime* runtime = nullptr;
    linux::CgroupManager* cgroups = nullptr;
    // Returns an error "<Reason>: <why>"; may wait for network plugins.
    std::function<absl::Status()> network;
    absl::Duration network_patience = absl::Seconds(2);
    // Empty until something is served.
    std::function<std::vector<cri::LaneState>()> lanes;
  };
  explicit NodeHealth(Parts parts);

  // The first stage is starting. From Recovered on `engine` is asked, and `node_resources`, whose
  // errors have the form of `network`'s. Both must outlive this.
  void Recovered(const runtime::Engine* engine, std::function<absl::Status()> node_resources);
  // The socket is served. (Stopping: it won't be much longer.)
  void Serving() { stage_ = Stage::kServing; }
  void Stopping() { stage_ = Stage::kStopping; }

  // OK if the daemon works, or would if there was work: a restart can mend an error. OK also while
  // it starts and stops. Doesn't return while the engine's locks are held.
  absl::Status Alive() const;
  // OK if a pod could be started, else FAILED_PRECONDITION "<Reason>: <why>". Costs some system
  // calls.
  absl::Status RuntimeReady() const;
  // All conditions. May take as long as the wait for the network.
  std::vector<HealthCondition> Conditions();
  // The required conditions that don't hold, "<name>: <why>". Quick.
  std::vector<std::string> NotReady() const;

 private:
  enum class Stage { kStarting, kServing, kStopping };

  std::vector<HealthCondition> Required() const;
  absl::Status IsServing() const;

  const Parts parts_;
  std::atomic<Stage> stage_ = Stage::kStarting;
  std::function<absl::Status()> node_resources_;  // set before `engine_`
  std::atomic<const runtime::Engine*> engine_ = nullptr;
  SlowQuestion network_;
};

// For /readyz: 200 or 503, and a line for each condition.
struct ReadinessPage {
  bool is_ready = false;
  std::string text;
};
ReadinessPage DescribeReadiness(const std::vector<HealthCondition>& conditions);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_TELEMETRY_NODE_HEALTH_H_
