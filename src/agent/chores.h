// Work that the agent does for its pods every few seconds.
#ifndef PLIMSOLL_AGENT_CHORES_H_
#define PLIMSOLL_AGENT_CHORES_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/config.h"
#include "agent/pods/admission/capacity_check.h"
#include "agent/pods/agent_pods.h"
#include "agent/pods/life/log_keeper.h"
#include "agent/pods/status/event_log.h"
#include "base/fs_root.h"
#include "linux/quiet_watch.h"
#include "pod_runner/runtime_client/client.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

// A thread of its own.
class Chores {
 public:
  // References outlive the chores.
  struct Surroundings {
    AgentPods& pods;
    pod::Client& client;
    const FsRoot& root;  // "/"
    KubeEventLog& events;
    std::function<resources::ResourceList()> allocatable;  // the node's; empty: not known yet
    std::function<void()> enforce;                         // holds groups to the node's amounts
    std::function<void(const std::string&)> note;          // a line for the log
  };
  static absl::StatusOr<std::unique_ptr<Chores>> Start(const AgentConfig& config,
                                                       Surroundings around);
  // Waits for the chore under way.
  ~Chores();
  Chores(const Chores&) = delete;
  Chores& operator=(const Chores&) = delete;

 private:
  Chores(const AgentConfig& config, Surroundings around);
  void Do();

  const Surroundings around_;
  const absl::Duration log_interval_;
  const absl::Duration tick_;
  std::unique_ptr<LogKeeper> logs_;  // null: logs have no limit
  absl::Time next_logs_;             // the ticker's own
  CapacityCheck capacity_;
  std::unique_ptr<linux::QuietWatch> ticker_;  // last: its thread uses all of the above
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CHORES_H_
