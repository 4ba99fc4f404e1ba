#include "agent/node_options_of.h"

#include "absl/time/time.h"
#include "agent/manager_config.h"

namespace plimsoll::agent {

NodeOptions NodeOptionsOf(const AgentConfig& config, const std::string& version) {
  NodeOptions options;
  options.name = config.node_name;
  options.labels = config.node_labels;
  options.system_reserved = SystemReservedOf(config);
  options.kube_reserved = KubeReservedOf(config);
  options.reserved_cpus = config.reserved_system_cpus;
  options.max_pods = config.max_pods;
  options.state_directory = config.state_directory;
  options.agent_version = version;
  options.discovery = config.resource_discovery == "cri"     ? DiscoveryMode::kCri
                      : config.resource_discovery == "local" ? DiscoveryMode::kLocal
                                                             : DiscoveryMode::kAuto;
  options.discovery_from_cri = config.feature_gates.enabled("KubeletResourceDiscoveryFromCRI");
  options.first_topology_limit = absl::Seconds(config.resource_discovery_timeout_seconds);
  options.cpu_ids_required = config.cpu_manager_policy == "static";
  options.hot_plug = config.feature_gates.enabled("NodeResourceHotPlug");
  return options;
}

}  // namespace plimsoll::agent
