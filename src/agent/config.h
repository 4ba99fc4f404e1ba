// The agent's configuration: a file in the spelling of kubelet's, and flags.
#ifndef PLIMSOLL_AGENT_CONFIG_H_
#define PLIMSOLL_AGENT_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/device_manager/configured_devices.h"
#include "agent/memory_manager/static_memory_policy.h"
#include "base/text/command_line.h"
#include "resources/cpu_set.h"
#include "resources/requirements.h"
#include "service/feature_gates.h"

namespace plimsoll::agent {

inline constexpr char kDefaultConfigPath[] = "/etc/plimsoll/agent.yaml";

// Keys have the members' names in camelCase (agent.yaml(5)).
struct AgentConfig {
  std::string runtime_endpoint = "unix:///run/plimsoll/plimsoll.sock";
  std::string static_pod_path = "/etc/plimsoll/manifests";
  std::string objects_path;  // of ConfigMaps and Secrets; empty: there are none
  std::string state_directory = "/var/lib/plimsoll-agent";
  std::string socket = "/run/plimsoll/agent.sock";
  std::string node_name;  // empty: the machine's host name
  std::map<std::string, std::string> node_labels;
  resources::ResourceList system_reserved;
  resources::ResourceList kube_reserved;
  int64_t max_pods = 110;
  NodeDevices devices;                              // that pods can request
  std::optional<int64_t> pod_pids_limit;            // of each pod
  std::string resource_discovery = "auto";          // "auto", "cri", "local"
  int64_t resource_discovery_timeout_seconds = 10;  // for the first topology
  std::string cpu_manager_policy = "none";          // "none", "static"
  std::map<std::string, std::string> cpu_manager_policy_options;
  absl::Duration cpu_manager_reconcile_period = absl::Seconds(10);
  std::optional<resources::CpuSet> reserved_system_cpus;  // reservedSystemCPUs
  std::string memory_manager_policy = "None";             // "None", "Static"
  MemoryByNode reserved_memory;
  std::string topology_manager_policy = "none";  // see ParseTopologyOptions
  std::string topology_manager_scope = "container";
  std::map<std::string, std::string> topology_manager_policy_options;
  // kubelet.sock of the device plugins is there; empty: no plugins are served.
  std::string device_plugin_path = "/var/lib/kubelet/device-plugins";
  std::string plugin_registry_path = "/var/lib/kubelet/plugins_registry";
  // kubelet.sock of the PodResources service is there; empty: it is not served.
  std::string pod_resources_path = "/var/lib/kubelet/pod-resources";
  std::string swap_behavior = "NoSwap";  // memorySwap.swapBehavior: "NoSwap", "LimitedSwap"
  bool fail_swap_on = false;             // true: the agent refuses a machine with swap
  bool seccomp_default = false;          // containers without a profile get RuntimeDefault
  std::string seccomp_profile_root = "/var/lib/kubelet/seccomp";  // of Localhost profiles
  std::optional<bool>
      single_process_oom_kill;  // singleProcessOOMKill; nullopt: as the groups have it
  std::vector<std::string> enforce_node_allocatable = {"pods"};  // also "system-reserved", …
  std::string system_reserved_cgroup;                            // for "system-reserved"
  std::string kube_reserved_cgroup;                              // for "kube-reserved"
  // Pods with classes of a runtime that lists no types: "reject", or "pass" them to the runtime.
  std::string unadvertised_classes = "reject";
  // Pods for which the node has become too small fail; else they stay.
  bool evict_after_capacity_shrinks = false;
  bool cgroups_per_qos = true;
  std::string cgroup_driver = "auto";  // "auto" asks the runtime; "cgroupfs", "systemd"
  std::string cgroup_root = "/";
  int64_t file_check_frequency_seconds = 20;
  int64_t container_log_max_bytes = int64_t{10} << 20;  // containerLogMaxSize; -1: no rotation
  int64_t container_log_max_files = 5;                  // with the one that is being written
  absl::Duration container_log_monitor_interval = absl::Seconds(10);
  std::string log_format = "text";  // "text", "json"
  std::string log_level = "info";   // "debug", "info", "warning", "error"
  FeatureGates feature_gates;
};

// INVALID_ARGUMENT names the place of each fault, a line each.
absl::StatusOr<AgentConfig> ParseConfig(absl::string_view text, absl::string_view file);

struct AgentFlags {
  std::optional<std::string> config;  // --config; else kDefaultConfigPath, if it exists
  bool check_config = false;
  int ready_fd = -1;
  // In force over the file's.
  std::optional<std::string> runtime_endpoint, static_pod_path, state_directory, socket, node_name,
      log_level, feature_gates, unadvertised_classes, seccomp_profile_root;
  bool evict_after_capacity_shrinks = false;
  bool seccomp_default = false;
};
// Fills `flags`, or returns an immediate exit: help, version, a wrong flag.
std::optional<EarlyExit> ParseFlags(int argc, const char* const* argv, const std::string& version,
                                    AgentFlags& flags);
// Reads the file, puts the flags over it, and checks the whole.
absl::StatusOr<AgentConfig> LoadConfig(const AgentFlags& flags);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CONFIG_H_
