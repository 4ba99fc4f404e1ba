// A plimsoll-agent of the test's own.
#ifndef PLIMSOLL_TESTS_HARNESS_AGENT_H_
#define PLIMSOLL_TESTS_HARNESS_AGENT_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/client/client.h"
#include "base/programs/subprocess.h"
#include "base/unique_fd.h"

namespace plimsoll::testing {

// The agent's process, directories and socket, below a directory of the test's. Not thread-safe.
// The destructor kills it; its pods are the runtime's to remove.
class AgentProcess {
 public:
  // `extra_config`: further lines for its configuration file.
  AgentProcess(std::string directory, std::string runtime_endpoint, std::string extra_config = "");
  ~AgentProcess();

  // Further lines, for the next start.
  void AddToConfig(const std::string& lines);
  // "NAME=value", for the next start.
  void AddToEnvironment(const std::string& variable) { variables_.push_back(variable); }

  absl::Status Start();
  // The two halves of Start: the process, and the wait until it is ready.
  absl::Status Spawn();
  absl::Status AwaitReady();
  // SIGTERM, and the wait for the end.
  absl::StatusOr<ExitStatus> Stop();
  void Kill();
  bool runs() const { return process_.has_value(); }
  pid_t pid() const { return process_->pid(); }

  std::string state_directory() const { return directory_ + "/agent-state"; }
  std::string manifests() const { return directory_ + "/manifests"; }
  std::string socket() const { return directory_ + "/agent.sock"; }
  std::string device_plugins() const { return directory_ + "/device-plugins"; }
  std::string plugin_registry() const { return directory_ + "/plugins-registry"; }
  // Below the test's directory as below kubelet's root.
  std::string pod_resources() const { return directory_ + "/pod-resources"; }
  std::string Log() const;
  agent::AgentClient& client() { return *client_; }
  // The body of a page of its socket ("/metrics"); empty unless the answer is 200.
  std::string Page(const std::string& path) const;
  // An event of the pod with this reason, the latest; null: there is none.
  nlohmann::json Event(const std::string& pod, const std::string& reason) const;

  // Puts a file into the directory of manifests, or takes it away.
  void WriteManifest(const std::string& file, const std::string& text);
  void RemoveManifest(const std::string& file);

  // The pod's object; null without the pod.
  nlohmann::json Pod(const std::string& name);
  // The pod's phase; empty without the pod.
  std::string Phase(const std::string& name);
  // Waits until the pod's object fulfils the condition; fails the test if it doesn't.
  bool Await(const std::string& name, const std::function<bool(const nlohmann::json&)>& condition);
  bool AwaitPhase(const std::string& name, const std::string& phase);
  bool AwaitGone(const std::string& name);

 private:
  const std::string directory_;
  std::vector<std::string> variables_;
  std::optional<Child> process_;
  UniqueFd ready_;
  std::unique_ptr<agent::AgentClient> client_;
};

// The container's id as the CRI has it, without the runtime's name. Empty if the status has none:
// before the first container is made, and after an agent's start until it has seen the pod in the
// runtime.
std::string CriId(const nlohmann::json& container_status);

// The status of one of the pod's containers; null: it has none yet.
const nlohmann::json& ContainerStatus(const nlohmann::json& pod, size_t index = 0);
// The CRI's id of the pod's first container, as CriId.
std::string MainId(const nlohmann::json& pod);
// Whether the pod's first container is ready.
bool IsReady(const nlohmann::json& pod);
// A condition of the pod's; null: it has none of the type.
nlohmann::json ConditionOf(const nlohmann::json& pod, const std::string& type);

// A script that runs until SIGTERM, and then ends with 0.
inline constexpr char kUntilTerm[] = "trap \"exit 0\" TERM; while :; do sleep 0.1; done";
// A type of classes, for plimsolld's configuration.
inline constexpr char kOomClasses[] = "classes:\n  oom: {classes: {first: 800, soon: 300}}\n";

// A v1 Pod of image busybox in YAML's flow style: `spec` holds further fields of the spec, each
// with a comma behind it.
std::string PodManifest(const std::string& name, const std::string& script,
                        const std::string& spec = "");

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_HARNESS_AGENT_H_
