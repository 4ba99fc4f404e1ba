// Running one pod from its start to its end: what kubelet's pod worker does, for `plimsoll run`.
#ifndef PLIMSOLL_CLI_POD_RUNNER_H_
#define PLIMSOLL_CLI_POD_RUNNER_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "cli/client.h"
#include "cli/log_mux.h"
#include "cli/manifest.h"
#include "cli/pod_dir.h"
#include "cli/pod_to_cri.h"

namespace plimsoll::cli {

class EventWatch;

// Time between restarts of a container that ends: doubled each time, forgotten after a long run.
absl::Duration RestartDelay(int restarts);

struct RunnerOptions {
  bool detach = false;  // return once the containers run
  bool keep = false;    // do not remove the pod at its end
  bool show_logs = true;
  std::string prefix;           // before container names in the output; for several pods
  std::string state_directory;  // of the daemon
  // Class types of pods that the daemon has (see PodContext).
  std::set<std::string> pod_class_types;
  std::function<int()> interrupts;  // 1: stop, 2: kill
  // Tells of the ends of containers; null: the daemon is asked all the time.
  const EventWatch* events = nullptr;
};

struct ContainerOutcome {
  std::string name;
  resources::ContainerRequirements::Role role = resources::ContainerRequirements::Role::kContainer;
  int restarts = 0;
  bool created = false;
  cri::ContainerConfig config;   // as it was asked for
  cri::ContainerStatus status;   // the last seen
  cri::ContainerResources held;  // what the kernel held after the start
};

struct PodOutcome {
  absl::Status status;  // Plimsoll's own failures; OK also when containers fail
  std::string uid;
  std::string sandbox_id;
  std::vector<ContainerOutcome> containers;  // in the manifest's order
  bool interrupted = false;
  bool started = false;       // every container that should run was started
  absl::Duration start_time;  // from the first request until the last container was started
  absl::Duration init_time;   // of that, waiting for init containers

  // 0 when every container that had to succeed did, else the first failed one's code, or
  // Plimsoll's.
  int ExitCode() const;
};

// ALREADY_EXISTS, with what to do, when the daemon has a pod of one of these names.
absl::Status CheckNamesAreFree(Client& client, const std::vector<PodManifest>& pods);

// Used by one thread. Client and LogMux are shared.
class PodRunner {
 public:
  PodRunner(Client& client, LogMux& logs, FsRoot root, PodManifest pod, RunnerOptions options);

  // Whatever happens, what was made is gone when it returns, unless the options say otherwise.
  PodOutcome Run();

 private:
  using Role = resources::ContainerRequirements::Role;
  struct Member {
    size_t index = 0;  // in the manifest and in outcome_.containers
    std::string id;
    bool running = false;
    int log = 0;
    absl::Time started;
    int recent_restarts = 0;
    absl::Time restart_at = absl::InfiniteFuture();
  };

  absl::Status Start();
  absl::Status StartSandbox();
  absl::StatusOr<uint32_t> ChooseIds();  // of a user namespace
  absl::Status MakeSandbox();
  // Whether there may be a pod though making it failed. `daemon`: who was asked for it; empty: not
  // known.
  bool MayHaveBeenMade(const absl::Status& failure, const std::string& daemon);
  absl::Status RunInit(Member& member);
  absl::Status StartContainer(Member& member);
  // What becomes of a start that failed: OK, with the container's end on record, where its program
  // could not be executed.
  absl::Status AfterFailedStart(Member& member, const absl::Status& failure);
  // An init container may have made what a subPath names, so they are looked up late.
  absl::Status ResolveSubPaths(const Member& member);
  absl::Status Supervise();
  // Whether a container may have ended since the last look.
  bool LookIsDue();
  absl::Status Refresh();  // looks, if it is due, for containers that have exited
  absl::Status AfterExit(Member& member);
  bool ShouldRestart(const Member& member) const;
  void ScheduleRestart(Member& member);
  absl::Status RestartDue();
  // After a start whose answer never came: false unless a daemon is there again. Takes away what
  // became of it, for a further attempt.
  absl::StatusOr<bool> ForgetLostStart(Member& member);
  void SayWhoIsAwaited(const std::vector<Member*>& members);
  // The daemon's warnings about this pod, each once.
  void SayWarnings();
  absl::Status StopMembers(const std::vector<Member*>& members);
  absl::Status TearDown();
  void SayWhatIsLeft();
  bool Interrupted();
  void Say(absl::string_view text);
  ContainerOutcome& outcome(const Member& member) { return outcome_.containers[member.index]; }
  const ContainerManifest& manifest(const Member& member) const {
    return pod_.containers[member.index];
  }

  Client& client_;
  LogMux& logs_;
  const FsRoot root_;
  const PodManifest pod_;
  const RunnerOptions options_;
  std::string uid_;
  PodDir dir_;
  PodConfigs configs_;
  std::vector<Member> members_;
  PodOutcome outcome_;
  uint64_t seen_news_ = 0;                     // of options_.events
  absl::Time look_at_ = absl::InfinitePast();  // without news too
  uint64_t last_event_ = 0;                    // that was looked at for warnings
  bool start_refused_ = false;  // of a program that can't be executed: nothing is to be waited for
  bool asked_for_sandbox_ = false;  // and it is not known to have failed
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_RUNNER_H_
