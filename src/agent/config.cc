#include "agent/config.h"

#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/device_config.h"
#include "agent/enforcement_config.h"
#include "agent/manager_config.h"
#include "agent/node_options_of.h"
#include "base/socket_file.h"
#include "base/status.h"
#include "base/text/host_name.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/runtime_client/client.h"
#include "yaml/config_file.h"
#include "yaml/reader.h"

namespace plimsoll::agent {
namespace {

void ReadAmounts(YamlReader& reader, YamlMapping& mapping, const std::string& key,
                 resources::ResourceList& out) {
  const auto node = mapping.Get(key);
  if (!node) return;
  reader.Entries(*node, mapping.PathOf(key),
                 [&](const std::string& name, const YAML::Node& value, const std::string& path) {
                   const auto text = reader.AsText(value, path);
                   if (!text) return;
                   const auto amount = resources::Quantity::Parse(*text);
                   if (!amount.ok()) {
                     reader.Fail(value, path, amount.status().message());
                   } else if (amount->Sign() < 0) {
                     reader.Fail(value, path, "must not be negative");
                   } else {
                     out[name] = *amount;
                   }
                 });
}

void ReadNumber(YamlMapping& mapping, const std::string& key, int64_t& out, int64_t min,
                int64_t max) {
  std::optional<int64_t> value;
  mapping.Int(key, value, min, max);
  out = value.value_or(out);
}

void ReadPath(YamlReader& reader, YamlMapping& mapping, const std::string& key, std::string& out) {
  mapping.String(key, out);
  const auto node = mapping.Get(key);
  if (node && !absl::StartsWith(out, "/")) {
    reader.Fail(*node, mapping.PathOf(key), "must be an absolute path");
  }
}

// A quantity of bytes, as kubelet's; a negative one turns rotation off.
void ReadLogSize(YamlReader& reader, YamlMapping& mapping, int64_t& out) {
  const auto node = mapping.Get("containerLogMaxSize");
  if (!node) return;
  const std::string path = mapping.PathOf("containerLogMaxSize");
  const auto text = reader.AsText(*node, path);
  if (!text) return;
  const auto amount = resources::Quantity::Parse(*text);
  if (!amount.ok()) {
    reader.Fail(*node, path, amount.status().message());
  } else if (amount->IsZero()) {
    reader.Fail(*node, path, "must be a size as 10Mi, or negative for logs without a limit");
  } else {
    out = amount->Sign() < 0 ? -1 : amount->Value();
  }
}

// A duration in kubelet's spelling, "10s" or "1m30s".
void ReadDuration(YamlReader& reader, YamlMapping& mapping, const std::string& key,
                  absl::Duration least, absl::Duration& out) {
  const auto node = mapping.Get(key);
  if (!node) return;
  const auto text = reader.AsText(*node, mapping.PathOf(key));
  if (!text) return;
  absl::Duration given;
  if (!absl::ParseDuration(*text, &given) || given < least || given > absl::Hours(24)) {
    reader.Fail(
        *node, mapping.PathOf(key),
        absl::StrCat("must be a duration from ", absl::FormatDuration(least), " to 24h, as 10s"));
    return;
  }
  out = given;
}

void ReadLogRotation(YamlReader& reader, YamlMapping& mapping, AgentConfig& config) {
  ReadLogSize(reader, mapping, config.container_log_max_bytes);
  ReadNumber(mapping, "containerLogMaxFiles", config.container_log_max_files, 2, 1000);
  ReadDuration(reader, mapping, "containerLogMonitorInterval", absl::Seconds(3),
               config.container_log_monitor_interval);
}

void ReadGates(YamlReader& reader, YamlMapping& mapping, FeatureGates& gates) {
  const auto node = mapping.Get("featureGates");
  if (!node) return;
  reader.Entries(*node, mapping.PathOf("featureGates"),
                 [&](const std::string& name, const YAML::Node& value, const std::string& path) {
                   const auto is_on = reader.AsBool(value, path);
                   if (!is_on) return;
                   const absl::Status set =
                       gates.Set(absl::StrCat(name, "=", *is_on ? "true" : "false"));
                   if (!set.ok()) reader.Fail(value, path, set.message());
                 });
}

// kubelet's own first lines are accepted.
void ReadKind(YamlReader& reader, YamlMapping& mapping) {
  std::string kind, version;
  mapping.String("kind", kind);
  mapping.String("apiVersion", version);
  if (!kind.empty() && kind != "AgentConfiguration" && kind != "KubeletConfiguration") {
    reader.Fail(mapping.node(), mapping.PathOf("kind"),
                absl::StrCat("is ", kind, "; expected AgentConfiguration"));
  }
}

void ReadConfig(YamlReader& reader, const YAML::Node& node, AgentConfig& config) {
  YamlMapping mapping(reader, node, "");
  ReadKind(reader, mapping);
  mapping.String("runtimeEndpoint", config.runtime_endpoint);
  ReadPath(reader, mapping, "staticPodPath", config.static_pod_path);
  ReadPath(reader, mapping, "objectsPath", config.objects_path);
  ReadPath(reader, mapping, "stateDirectory", config.state_directory);
  ReadPath(reader, mapping, "socket", config.socket);
  mapping.String("nodeName", config.node_name);
  mapping.StringMap("nodeLabels", config.node_labels);
  ReadAmounts(reader, mapping, "systemReserved", config.system_reserved);
  ReadAmounts(reader, mapping, "kubeReserved", config.kube_reserved);
  ReadNumber(mapping, "maxPods", config.max_pods, 1, 10'000);
  ReadDevices(reader, mapping, config.devices);
  mapping.Int("podPidsLimit", config.pod_pids_limit, 1, int64_t{1} << 22);
  mapping.OneOf("resourceDiscovery", config.resource_discovery, {"auto", "cri", "local"});
  ReadNumber(mapping, "resourceDiscoveryTimeoutSeconds", config.resource_discovery_timeout_seconds,
             1, 3600);
  ReadManagers(reader, mapping, config);
  mapping.Bool("seccompDefault", config.seccomp_default);
  ReadPath(reader, mapping, "seccompProfileRoot", config.seccomp_profile_root);
  mapping.OptionalBool("singleProcessOOMKill", config.single_process_oom_kill);
  mapping.OneOf("unadvertisedClasses", config.unadvertised_classes, {"reject", "pass"});
  mapping.Bool("evictAfterCapacityShrinks", config.evict_after_capacity_shrinks);
  mapping.Bool("cgroupsPerQOS", config.cgroups_per_qos);
  ReadEnforcement(reader, mapping, config);
  mapping.OneOf("cgroupDriver", config.cgroup_driver, {"auto", "cgroupfs", "systemd"});
  mapping.String("cgroupRoot", config.cgroup_root);
  ReadNumber(mapping, "fileCheckFrequencySeconds", config.file_check_frequency_seconds, 1, 86400);
  ReadLogRotation(reader, mapping, config);
  ReadLogging(reader, mapping, config.log_format, config.log_level);
  ReadGates(reader, mapping, config.feature_gates);
  mapping.Finish();
}

absl::Status CheckWhole(const AgentConfig& config) {
  const std::pair<const char*, const std::string*> paths[] = {
      {"staticPodPath", &config.static_pod_path},
      {"stateDirectory", &config.state_directory},
      {"socket", &config.socket},
      {"seccompProfileRoot", &config.seccomp_profile_root}};
  for (const auto& [name, path] : paths) {
    if (absl::StartsWith(*path, "/")) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": \"", *path, "\" must be an absolute path"));
  }
  PLIMSOLL_RETURN_IF_ERROR(Annotate(CheckSocketPath(config.socket), "socket"));
  PLIMSOLL_RETURN_IF_ERROR(
      Annotate(pod::SocketPathOf(config.runtime_endpoint).status(), "runtimeEndpoint"));
  if (!pod::IsDnsName(config.node_name, /*dots=*/true)) {
    return absl::InvalidArgumentError(
        absl::StrCat("nodeName \"", config.node_name,
                     "\" must be lower-case letters, digits, \"-\" and \".\", at most 253"));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckEnforcement(config));
  PLIMSOLL_RETURN_IF_ERROR(ManagerOptionsOf(config).status());
  return CheckNodeOptions(NodeOptionsOf(config, /*version=*/""));
}

}  // namespace

absl::StatusOr<AgentConfig> ParseConfig(absl::string_view text, absl::string_view file) {
  AgentConfig config;
  PLIMSOLL_RETURN_IF_ERROR(ReadConfigText(
      text, file,
      [&config](YamlReader& reader, const YAML::Node& node) { ReadConfig(reader, node, config); }));
  return config;
}

std::optional<EarlyExit> ParseFlags(int argc, const char* const* argv, const std::string& version,
                                    AgentFlags& flags) {
  CLI::App app(
      "Runs pods of manifests on this node by a CRI runtime: the kubelet half of "
      "Plimsoll's protocol.",
      "plimsoll-agent");
  app.set_version_flag("--version", "plimsoll-agent " + version, "Print the version");
  app.add_option(
      "--config", flags.config,
      std::string("Configuration file (default ") + kDefaultConfigPath + ", if it exists)");
  app.add_flag("--check-config", flags.check_config, "Check the configuration and exit");
  app.add_option("--runtime-endpoint", flags.runtime_endpoint,
                 "The runtime's socket, unix:///PATH");
  app.add_option("--pod-manifest-path", flags.static_pod_path, "Directory of manifests to run");
  app.add_option("--state-directory", flags.state_directory, "Directory of the agent's state");
  app.add_option("--socket", flags.socket, "Socket of the agent's API");
  app.add_option("--hostname-override", flags.node_name, "Name of the node");
  app.add_option("--log-level", flags.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  app.add_option("--feature-gates", flags.feature_gates, "NAME=true|false,...");
  app.add_option("--unadvertised-classes", flags.unadvertised_classes,
                 "reject or pass: pods with classes of a runtime that lists no class types")
      ->check(CLI::IsMember({"reject", "pass"}));
  app.add_flag("--evict-after-capacity-shrinks", flags.evict_after_capacity_shrinks,
               "Fail pods for which the node has become too small");
  app.add_flag("--seccomp-default", flags.seccomp_default,
               "Give containers without a seccomp profile RuntimeDefault");
  app.add_option("--seccomp-profile-root", flags.seccomp_profile_root,
                 "Directory that Localhost seccomp profiles are relative to");
  app.add_option("--ready-fd", flags.ready_fd, "Descriptor to write a byte to once the API answers")
      ->group("");
  app.footer(
      "plimsoll-agent import-kubelet-state keeps what pods had under a kubelet; see its --help.");
  return ParseCommandLine(app, argc, argv);
}

absl::StatusOr<AgentConfig> LoadConfig(const AgentFlags& flags) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            LoadConfigText(flags.config, kDefaultConfigPath));
  PLIMSOLL_ASSIGN_OR_RETURN(AgentConfig config,
                            ParseConfig(text, ConfigPath(flags.config, kDefaultConfigPath)));
  config.runtime_endpoint = flags.runtime_endpoint.value_or(config.runtime_endpoint);
  config.static_pod_path = flags.static_pod_path.value_or(config.static_pod_path);
  config.state_directory = flags.state_directory.value_or(config.state_directory);
  config.socket = flags.socket.value_or(config.socket);
  config.node_name = flags.node_name.value_or(config.node_name);
  config.log_level = flags.log_level.value_or(config.log_level);
  config.unadvertised_classes = flags.unadvertised_classes.value_or(config.unadvertised_classes);
  config.evict_after_capacity_shrinks |= flags.evict_after_capacity_shrinks;
  config.seccomp_default |= flags.seccomp_default;
  config.seccomp_profile_root = flags.seccomp_profile_root.value_or(config.seccomp_profile_root);
  if (flags.feature_gates) {
    PLIMSOLL_RETURN_IF_ERROR(
        Annotate(config.feature_gates.Set(*flags.feature_gates), "--feature-gates"));
  }
  if (config.node_name.empty()) config.node_name = HostNameOfNode();
  PLIMSOLL_RETURN_IF_ERROR(CheckWhole(config));
  return config;
}

}  // namespace plimsoll::agent
