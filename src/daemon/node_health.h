// Whether the daemon is alive and whether it is ready: what /healthz, /readyz, the CRI's Status and
// `plimsoll daemon status` tell. docs/metrics.md says what each condition means.
#ifndef PLIMSOLL_DAEMON_NODE_HEALTH_H_
#define PLIMSOLL_DAEMON_NODE_HEALTH_H_

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "cri/lanes.h"
#include "daemon/slow_question.h"
#include "linux/cgroup/cgroup.h"
#include "runtime/engine.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::daemon {

struct HealthCondition {
  std::string name;     // one word in CamelCase
  absl::Status status;  // OK: it holds
  // Whether the daemon is not ready without it. Of the others it is only told.
  bool is_required = true;
};

// OK unless a call that waits for nobody else has waited for a thread for half a minute: then
// UNAVAILABLE. Calls that wait for commands, grace periods, registries and plugins may take long.
absl::Status CallsGetTheirTurn(const std::vector<cri::LaneState>& lanes);

// FAILED_PRECONDITION "DiskFull: ..." when the directory's file system has less room than the
// database needs to record anything at all.
absl::Status HasRoomToRecord(const FsRoot& directory);

// Thread-safe.
class NodeHealth {
 public:
  struct Parts {
    FsRoot host;
    FsRoot state;
    std::string state_directory;
    std::string run_directory;
    // All outlive it.
    const runtime::ContainerRuntime* runtime = nullptr;
    linux::CgroupManager* cgroups = nullptr;
    // With an error whose message is "<Reason>: <why>"; may wait for network plugins.
    std::function<absl::Status()> network;
    absl::Duration network_patience = absl::Seconds(2);
    // Empty while nothing is served.
    std::function<std::vector<cri::LaneState>()> lanes;
  };
  explicit NodeHealth(Parts parts);

  // It begins as starting. From Recovered on, `engine` is asked, and `node_resources` for an error
  // as that of `network`. Both must go on until this is gone.
  void Recovered(const runtime::Engine* engine, std::function<absl::Status()> node_resources);
  // The socket is served; or it won't be much longer.
  void Serving() { stage_ = Stage::kServing; }
  void Stopping() { stage_ = Stage::kStopping; }

  // Whether the daemon does its work, or would if there was some: what a restart can mend. OK also
  // while it starts and stops. Does not return while the engine's locks are held.
  absl::Status Alive() const;
  // Whether a pod could be started: FAILED_PRECONDITION "<Reason>: <why>". Costs some system calls.
  absl::Status RuntimeReady() const;
  // All conditions. May take as long as the network is waited for.
  std::vector<HealthCondition> Conditions();
  // The required ones that don't hold, "<name>: <why>". Quick.
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

#endif  // PLIMSOLL_DAEMON_NODE_HEALTH_H_
