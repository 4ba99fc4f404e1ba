// Runs one pod from its start to its end, as kubelet's pod worker does.
#ifndef PLIMSOLL_POD_RUNNER_RUNNER_H_
#define PLIMSOLL_POD_RUNNER_RUNNER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/observer.h"
#include "pod_runner/runtime_client/client.h"
#include "pod_runner/sandbox_maker.h"
#include "pod_runner/slow_stops.h"
#include "pod_runner/stop_turns.h"

namespace plimsoll::pod {

class EventWatch;

// The pause before a container's restart: doubled each time, and reset by a long run.
absl::Duration RestartDelay(int restarts);

// ContainerStatus.reason of a container whose program could not be executed.
inline constexpr char kStartError[] = "StartError";

struct RunnerOptions {
  bool detach = false;          // return once the containers run
  bool keep = false;            // do not remove the pod at its end
  std::string state_directory;  // the daemon's
  // The daemon's class types of pods (see PodContext).
  std::set<std::string> pod_class_types;
  // ConfigMaps and Secrets; nullptr: there are none. Outlives the Runner.
  const ConfigObjects* objects = nullptr;
  std::map<std::string, std::string> image_ids;  // of image volumes (see PodContext)
  SeccompRules seccomp;
  std::string network_fault;        // NetworkFault, before the pod
  std::function<int()> interrupts;  // the interrupts so far; 1: stop, 2: kill
  // Wakes the Runner when containers end; null: it polls the daemon.
  const EventWatch* events = nullptr;
};

struct ContainerOutcome {
  std::string name;
  resources::ContainerRequirements::Role role = resources::ContainerRequirements::Role::kContainer;
  int restarts = 0;
  bool created = false;
  cri::ContainerConfig config;   // as sent to the daemon
  cri::ContainerStatus status;   // as last read
  cri::ContainerResources held;  // by the kernel, after the start
};

struct Outcome {
  absl::Status status;  // a failure of Plimsoll's own; OK also when containers fail
  std::string uid;
  std::string sandbox_id;
  std::vector<ContainerOutcome> containers;  // in the manifest's order
  bool interrupted = false;
  bool started = false;       // every container that should run was started
  absl::Duration start_time;  // from the first call until the last container's start
  absl::Duration init_time;   // the part of it that init containers took
  absl::Time deadline = absl::InfiniteFuture();  // by activeDeadlineSeconds
  bool past_deadline = false;                    // the pod ended because of it

  // A pod of the daemon that has the manifest's name; `status` is then NameIsTaken.
  std::optional<cri::PodSandbox> namesake;

  // The exit code of the first container that had to succeed and didn't; 0: all did. 1 if none
  // failed, and the pod ended at its deadline.
  int FailedCode() const;
};

// Used by one thread. Runners of several pods may share the client.
class Runner {
 public:
  // `root` is "/".
  Runner(Client& client, Observer& observer, FsRoot root, Manifest pod, RunnerOptions options);
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Removes all that it made before it returns, also after an error, unless the options say
  // otherwise.
  Outcome Run();

 private:
  using Role = resources::ContainerRequirements::Role;
  struct Member {
    size_t index = 0;  // in the manifest and in outcome_.containers
    std::string id;
    bool running = false;
    bool log_open = false;
    absl::Time started;
    int recent_restarts = 0;
    absl::Time restart_at = absl::InfiniteFuture();
  };
  struct Stop {
    const Member* member = nullptr;
    // See StopTurns. An init container has none: it waits for nobody, and nobody for it.
    std::optional<size_t> rank;
    absl::Status status;
    std::string warning;  // the hook's failure
  };
  // The last look at the daemon.
  struct Look {
    uint64_t news = 0;                       // options_.events->news()
    absl::Time next = absl::InfinitePast();  // without news too
    uint64_t event = 0;                      // the last one that was searched for warnings
  };

  // Makes the sandbox and starts the containers in order.
  absl::Status Start();
  // Adds a member for each container of the manifest.
  void AddMembers();
  absl::Status RunInit(Member& member);
  absl::Status StartContainer(Member& member);
  // After a start that failed. OK, with the container's end on record, where its program could not
  // be executed; else `failure`.
  absl::Status AfterFailedStart(Member& member, const absl::Status& failure);
  // Runs the hook after the start. A failure ends the container, as under kubelet.
  absl::Status RunPostStart(Member& member);
  absl::Status Supervise();
  // A container may have ended since the last look.
  bool LookIsDue();
  absl::Status Refresh();  // looks, if a look is due, for containers that have exited
  absl::Status AfterExit(Member& member);
  bool ShouldRestart(const Member& member) const;
  void ScheduleRestart(Member& member);
  absl::Status RestartDue();
  // After a start without an answer: removes a container that came of it, so that the start can be
  // tried again. False: no daemon came back.
  absl::StatusOr<bool> ForgetLostStart(Member& member);
  void TellWarnings();
  // In the order of ranks.
  std::vector<Stop> Stops();
  // Runs the hook before the stop, and stops the container in its turn. Called from a thread of its
  // own.
  void StopInTurn(Stop& stop, StopTurns& turns, SlowStops& slow);
  // Reports slow stops, and kills after another interrupt.
  void AwaitStops(const std::vector<Stop>& stops, StopTurns& turns, SlowStops& slow);
  absl::Status StopMembers();
  absl::Status TearDown();
  bool Interrupted();
  bool PastDeadline();
  void EndLog(Member& member);
  // After the container's end. If it fails, its next start or the pod's removal does it.
  void ReleaseSubPaths(const Member& member) const;
  ContainerOutcome& outcome(const Member& member) { return outcome_.containers[member.index]; }
  const ContainerManifest& manifest(const Member& member) const {
    return pod_.containers[member.index];
  }

  Client& client_;
  Observer& observer_;
  const FsRoot root_;
  const Manifest pod_;
  const RunnerOptions options_;
  SandboxMaker maker_;
  PodConfigs configs_;
  std::vector<Member> members_;
  Outcome outcome_;
  Look look_;
  bool start_refused_ = false;    // a program can't be executed, so nothing is waited for
  std::string creation_refused_;  // the runtime's reason; empty: every creation succeeded
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_RUNNER_H_
