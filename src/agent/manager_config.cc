#include "agent/manager_config.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/cpu_manager/cpu_options.h"
#include "agent/topology_manager/topology_manager.h"
#include "base/status.h"

namespace plimsoll::agent {
namespace {

constexpr char kMemory[] = "memory";
constexpr char kHugePages[] = "hugepages-";
constexpr int64_t kMostNodes = 1024;

bool IsMemory(const std::string& resource) {
  return resource == kMemory || absl::StartsWith(resource, kHugePages);
}

void ReadReservedCpus(YamlReader& reader, YamlMapping& mapping, AgentConfig& config) {
  const auto node = mapping.Get("reservedSystemCPUs");
  if (!node) return;
  const std::string path = mapping.PathOf("reservedSystemCPUs");
  const auto text = reader.AsText(*node, path);
  if (!text || text->empty()) return;
  auto cpus = resources::CpuSet::Parse(*text);
  if (!cpus.ok()) {
    reader.Fail(*node, path, cpus.status().message());
  } else if (!cpus->Empty()) {
    config.reserved_system_cpus = *std::move(cpus);
  }
}

void ReadLimit(YamlReader& reader, const std::string& resource, const YAML::Node& value,
               const std::string& path, MemoryAmounts& limits) {
  const auto text = reader.AsText(value, path);
  if (!text) return;
  const auto amount = resources::Quantity::Parse(*text);
  if (!IsMemory(resource)) {
    reader.Fail(value, path, "only memory and hugepages-<size> can be reserved");
  } else if (!amount.ok()) {
    reader.Fail(value, path, amount.status().message());
  } else if (amount->Sign() <= 0) {
    reader.Fail(value, path, "must be above zero");
  } else if (!limits.emplace(resource, amount->Value()).second) {
    reader.Fail(value, path, "is there twice for this NUMA node");
  }
}

void ReadReservation(YamlReader& reader, const YAML::Node& node, const std::string& path,
                     AgentConfig& config) {
  YamlMapping mapping(reader, node, path);
  std::optional<int64_t> numa_node;
  mapping.Int("numaNode", numa_node, 0, kMostNodes - 1);
  const auto limits = mapping.Get("limits");
  mapping.Finish();
  if (!limits) {
    reader.Fail(node, path, "needs limits, as {memory: 1Gi}");
    return;
  }
  const uint32_t number = static_cast<uint32_t>(numa_node.value_or(0));
  reader.Entries(*limits, mapping.PathOf("limits"),
                 [&](const std::string& resource, const YAML::Node& value, const std::string& at) {
                   ReadLimit(reader, resource, value, at, config.reserved_memory[number]);
                 });
}

void ReadDirectory(YamlReader& reader, YamlMapping& mapping, const std::string& key,
                   std::string& out) {
  mapping.String(key, out);
  const auto node = mapping.Get(key);
  if (node && !out.empty() && !absl::StartsWith(out, "/")) {
    reader.Fail(*node, mapping.PathOf(key), "must be an absolute path, or empty for none");
  }
}

void ReadPeriod(YamlReader& reader, YamlMapping& mapping, AgentConfig& config) {
  const auto node = mapping.Get("cpuManagerReconcilePeriod");
  if (!node) return;
  const std::string path = mapping.PathOf("cpuManagerReconcilePeriod");
  const auto text = reader.AsText(*node, path);
  if (!text) return;
  absl::Duration period;
  if (!absl::ParseDuration(*text, &period) || period < absl::ZeroDuration() ||
      period > absl::Hours(24)) {
    reader.Fail(*node, path, "must be a duration up to 24h, as 10s");
  } else if (period > absl::ZeroDuration()) {  // 0s is the default, as in kubelet
    config.cpu_manager_reconcile_period = period;
  }
}

absl::Status Wrong(absl::string_view key, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(key, ": ", why));
}

absl::Status CheckCpus(const AgentConfig& config, const ManagerOptions& options) {
  if (config.reserved_system_cpus &&
      !(config.system_reserved_cgroup.empty() && config.kube_reserved_cgroup.empty())) {
    return Wrong("reservedSystemCPUs",
                 "can't be beside systemReservedCgroup and "
                 "kubeReservedCgroup");
  }
  if (!options.static_cpus) {
    if (config.cpu_manager_policy_options.empty()) return absl::OkStatus();
    return Wrong("cpuManagerPolicyOptions", "cpuManagerPolicy none has no options");
  }
  // The runtime's topology may leave CPUs to the system: the CPU manager judges when it is known.
  const bool may_leave_cpus = config.resource_discovery != "local" &&
                              config.feature_gates.enabled("KubeletResourceDiscoveryFromCRI");
  if (options.reserved_cpus.milli > 0 || may_leave_cpus) return absl::OkStatus();
  return Wrong("cpuManagerPolicy",
               "static needs CPUs for the system: set reservedSystemCPUs, or cpu in systemReserved "
               "or kubeReserved");
}

absl::Status CheckMemory(const AgentConfig& config, const ManagerOptions& options) {
  if (!options.static_memory) return absl::OkStatus();
  MemoryAmounts sums;
  for (const auto& [node, limits] : config.reserved_memory) {
    for (const auto& [resource, bytes] : limits) {
      if (__builtin_add_overflow(sums[resource], bytes, &sums[resource])) {
        return Wrong("reservedMemory", absl::StrCat("the sum of ", resource, " is too large"));
      }
    }
  }
  if (sums[kMemory] == 0) {
    return Wrong("memoryManagerPolicy",
                 "Static needs memory for the system: set reservedMemory, and memory in "
                 "systemReserved or kubeReserved");
  }
  MemoryAmounts reserved = options.reserved_memory_sum;
  for (const auto& [resource, bytes] : sums) reserved.emplace(resource, 0);
  for (const auto& [resource, bytes] : reserved) {
    if (sums[resource] == bytes) continue;
    return Wrong("reservedMemory", absl::StrCat("reserves ", sums[resource], " bytes of ", resource,
                                                ", and systemReserved and kubeReserved together ",
                                                bytes, "; policy Static needs the same amount"));
  }
  return absl::OkStatus();
}

}  // namespace

void ReadManagers(YamlReader& reader, YamlMapping& mapping, AgentConfig& config) {
  mapping.OneOf("cpuManagerPolicy", config.cpu_manager_policy, {"none", "static"});
  mapping.StringMap("cpuManagerPolicyOptions", config.cpu_manager_policy_options);
  ReadPeriod(reader, mapping, config);
  ReadReservedCpus(reader, mapping, config);
  mapping.OneOf("memoryManagerPolicy", config.memory_manager_policy, {"None", "Static"});
  mapping.Each("reservedMemory", [&](const YAML::Node& node, const std::string& path) {
    ReadReservation(reader, node, path, config);
  });
  mapping.OneOf("topologyManagerPolicy", config.topology_manager_policy,
                {"none", "best-effort", "restricted", "single-numa-node"});
  mapping.OneOf("topologyManagerScope", config.topology_manager_scope, {"container", "pod"});
  mapping.StringMap("topologyManagerPolicyOptions", config.topology_manager_policy_options);
  ReadDirectory(reader, mapping, "devicePluginPath", config.device_plugin_path);
  ReadDirectory(reader, mapping, "pluginRegistryPath", config.plugin_registry_path);
  ReadDirectory(reader, mapping, "podResourcesPath", config.pod_resources_path);
  if (config.pod_resources_path.empty() || config.pod_resources_path != config.device_plugin_path) {
    return;
  }
  // The defaults differ, so that at least one of them is given.
  const std::string paths[] = {"podResourcesPath", "devicePluginPath"};
  const size_t given = mapping.Get(paths[0]) ? 0 : 1;
  if (const auto node = mapping.Get(paths[given])) {
    reader.Fail(*node, mapping.PathOf(paths[given]),
                absl::StrCat("is ", paths[1 - given],
                             ", which has a kubelet.sock of its own; choose another directory"));
  }
}

void ShowManagers(const AgentConfig& config, nlohmann::json& object) {
  object["cpuManagerPolicy"] = config.cpu_manager_policy;
  object["cpuManagerPolicyOptions"] = config.cpu_manager_policy_options;
  object["cpuManagerReconcilePeriod"] = absl::FormatDuration(config.cpu_manager_reconcile_period);
  if (config.reserved_system_cpus) {
    object["reservedSystemCPUs"] = config.reserved_system_cpus->ToString();
  }
  object["memoryManagerPolicy"] = config.memory_manager_policy;
  nlohmann::json reservations = nlohmann::json::array();
  for (const auto& [node, limits] : config.reserved_memory) {
    nlohmann::json amounts = nlohmann::json::object();
    for (const auto& [resource, bytes] : limits) amounts[resource] = absl::StrCat(bytes);
    reservations.push_back({{"numaNode", node}, {"limits", std::move(amounts)}});
  }
  object["reservedMemory"] = std::move(reservations);
  object["topologyManagerPolicy"] = config.topology_manager_policy;
  object["topologyManagerScope"] = config.topology_manager_scope;
  object["topologyManagerPolicyOptions"] = config.topology_manager_policy_options;
  object["devicePluginPath"] = config.device_plugin_path;
  object["pluginRegistryPath"] = config.plugin_registry_path;
  object["podResourcesPath"] = config.pod_resources_path;
}

absl::StatusOr<ManagerOptions> ManagerOptionsOf(const AgentConfig& config) {
  ManagerOptions options;
  options.static_cpus = config.cpu_manager_policy == "static";
  PLIMSOLL_ASSIGN_OR_RETURN(options.cpu_options,
                            ParseCpuOptions(config.cpu_manager_policy_options));
  options.reserved_cpus.cpus = config.reserved_system_cpus;
  options.static_memory = config.memory_manager_policy == "Static";
  options.reserved_memory = config.reserved_memory;
  for (const auto& [resource, amount] : ReservedOf(config)) {
    if (resource == "cpu") options.reserved_cpus.milli = amount.MilliValue();
    if (IsMemory(resource)) options.reserved_memory_sum[resource] = amount.Value();
  }
  PLIMSOLL_ASSIGN_OR_RETURN(
      options.topology,
      ParseTopologyOptions(config.topology_manager_policy, config.topology_manager_scope,
                           config.topology_manager_policy_options));
  options.pod_level = config.feature_gates.enabled("PodLevelResourceManagers");
  PLIMSOLL_RETURN_IF_ERROR(CheckCpus(config, options));
  PLIMSOLL_RETURN_IF_ERROR(CheckMemory(config, options));
  return options;
}

absl::StatusOr<CpuReservation> ReservationWithin(const CpuReservation& asked,
                                                 const resources::CpuSet& node,
                                                 const resources::CpuSet& machine) {
  CpuReservation within = asked;
  const resources::CpuSet others = machine.Difference(node);
  within.has_others = !others.Empty();
  if (!asked.cpus) return within;
  const resources::CpuSet missing = asked.cpus->Difference(node).Difference(others);
  if (!missing.Empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("reservedSystemCPUs: ", asked.cpus->ToString(),
                     ": neither the node nor the machine has CPUs ", missing.ToString()));
  }
  within.cpus = asked.cpus->Intersection(node);
  within.milli = static_cast<int64_t>(within.cpus->Size()) * 1000;
  return within;
}

resources::ResourceList SystemReservedOf(const AgentConfig& config) {
  resources::ResourceList reserved = config.system_reserved;
  if (config.reserved_system_cpus) {
    reserved["cpu"] =
        resources::Quantity::FromInt(static_cast<int64_t>(config.reserved_system_cpus->Size()));
  }
  return reserved;
}

resources::ResourceList KubeReservedOf(const AgentConfig& config) {
  resources::ResourceList reserved = config.kube_reserved;
  if (config.reserved_system_cpus) reserved.erase("cpu");
  return reserved;
}

resources::ResourceList ReservedOf(const AgentConfig& config) {
  resources::ResourceList sum = SystemReservedOf(config);
  for (const auto& [resource, amount] : KubeReservedOf(config)) {
    sum[resource] = sum[resource] + amount;
  }
  return sum;
}

}  // namespace plimsoll::agent
