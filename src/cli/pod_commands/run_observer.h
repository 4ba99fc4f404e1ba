// Output of `plimsoll run` while a pod runs: the containers' output, and words about the pod.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_RUN_OBSERVER_H_
#define PLIMSOLL_CLI_POD_COMMANDS_RUN_OBSERVER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "cli/pod_commands/log_mux.h"
#include "pod_runner/observer.h"

namespace plimsoll::cli {

// "note: has loopback alone (...)"; `fault`: pod::NetworkFault.
std::string LoopbackAlone(absl::string_view fault);

// Observes one pod. Used by the thread that runs the pod; `logs` is shared by all pods, and
// outlives this.
class RunObserver : public pod::Observer {
 public:
  struct Options {
    std::string pod;        // its name
    std::string prefix;     // stands before container names in the output
    bool show_logs = true;  // false: words about the pod alone
  };
  RunObserver(LogMux& logs, Options options) : logs_(logs), options_(std::move(options)) {}

  void OnPlan(const std::vector<std::string>& containers) override;
  void OnLogOpen(const std::string& container, const std::string& path) override;
  void OnLogEnd(const std::string& container) override;
  void OnStartRefused(const std::string& container, absl::string_view message) override;
  void OnRestart(const std::string& container, int exit_code, absl::Duration delay) override;
  void OnRestartLost(const std::string& container, absl::Duration delay) override;
  void OnLoopbackAlone(absl::string_view fault) override;
  void OnWarning(absl::string_view message) override;
  void OnDeadline(int64_t seconds) override;
  void OnStop(int64_t grace_s) override;
  void OnSlowStop(const std::vector<std::string>& containers, int64_t grace_s) override;
  void OnKill() override;
  void OnMayBeLeft() override;

 private:
  void Say(absl::string_view text);

  LogMux& logs_;
  const Options options_;
  std::map<std::string, int> handles_;  // of open logs, by container
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_RUN_OBSERVER_H_
