#include "agent/config_object.h"

#include "absl/strings/str_cat.h"
#include "agent/enforcement_config.h"
#include "agent/manager_config.h"

namespace plimsoll::agent {
namespace {

using Json = nlohmann::json;

Json AmountsObject(const resources::ResourceList& amounts) {
  Json object = Json::object();
  for (const auto& [name, amount] : amounts) object[name] = amount.text();
  return object;
}

Json DevicesObject(const NodeDevices& devices) {
  Json object = Json::object();
  for (const auto& [resource, list] : devices) {
    Json& entries = object[resource] = Json::array();
    for (const NodeDevice& each : list) {
      if (!each.cdi_name.empty()) {
        entries.push_back({{"cdi", each.cdi_name}});
        continue;
      }
      entries.push_back({{"path", each.node.host_path},
                         {"containerPath", each.node.container_path},
                         {"permissions", each.node.permissions}});
    }
  }
  return object;
}

}  // namespace

Json ConfigObject(const AgentConfig& config) {
  Json object = {
      {"kind", "AgentConfiguration"},
      {"runtimeEndpoint", config.runtime_endpoint},
      {"staticPodPath", config.static_pod_path},
      {"stateDirectory", config.state_directory},
      {"socket", config.socket},
      {"nodeName", config.node_name},
      {"nodeLabels", config.node_labels},
      {"systemReserved", AmountsObject(config.system_reserved)},
      {"kubeReserved", AmountsObject(config.kube_reserved)},
      {"maxPods", config.max_pods},
      {"resourceDiscovery", config.resource_discovery},
      {"resourceDiscoveryTimeoutSeconds", config.resource_discovery_timeout_seconds},
      {"unadvertisedClasses", config.unadvertised_classes},
      {"evictAfterCapacityShrinks", config.evict_after_capacity_shrinks},
      {"cgroupsPerQOS", config.cgroups_per_qos},
      {"cgroupDriver", config.cgroup_driver},
      {"cgroupRoot", config.cgroup_root},
      {"seccompDefault", config.seccomp_default},
      {"seccompProfileRoot", config.seccomp_profile_root},
      {"fileCheckFrequencySeconds", config.file_check_frequency_seconds},
      {"containerLogMaxSize", absl::StrCat(config.container_log_max_bytes)},
      {"containerLogMaxFiles", config.container_log_max_files},
      {"containerLogMonitorInterval", absl::FormatDuration(config.container_log_monitor_interval)},
      {"logging", {{"format", config.log_format}, {"level", config.log_level}}},
      {"featureGates", config.feature_gates.all()}};
  ShowManagers(config, object);
  ShowEnforcement(config, object);
  if (!config.objects_path.empty()) object["objectsPath"] = config.objects_path;
  if (!config.devices.empty()) object["devices"] = DevicesObject(config.devices);
  if (config.single_process_oom_kill) {
    object["singleProcessOOMKill"] = *config.single_process_oom_kill;
  }
  if (config.pod_pids_limit) object["podPidsLimit"] = *config.pod_pids_limit;
  return {{"kubeletconfig", std::move(object)}};
}

}  // namespace plimsoll::agent
