#include "kube/config.h"

#include <yaml-cpp/yaml.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/socket_file.h"
#include "base/status.h"
#include "base/text/host_name.h"
#include "base/text/label_text.h"
#include "base/text/listen_address.h"
#include "base/text/problems.h"
#include "kube/driver/driver.h"
#include "yaml/config_file.h"
#include "yaml/config_place.h"
#include "yaml/reader.h"

namespace plimsoll::kube {
namespace {

void ReadTopologyManager(YamlReader& reader, YamlMapping& publish, PublishOptions& options) {
  const auto node = publish.Get("topologyManager");
  if (!node) return;
  YamlMapping mapping(reader, *node, publish.PathOf("topologyManager"));
  mapping.String("policy", options.topology_manager_policy);
  mapping.String("scope", options.topology_manager_scope);
  mapping.Finish();
}

void ReadPublish(YamlReader& reader, YamlMapping& mapping, PublishOptions& options) {
  const auto node = mapping.Get("publish");
  if (!node) return;
  YamlMapping publish(reader, *node, mapping.PathOf("publish"));
  publish.Strings("labels", options.labels);
  publish.Strings("annotations", options.annotations);
  publish.Bool("conditions", options.conditions);
  publish.Bool("events", options.events);
  publish.Bool("topology", options.topology);
  ReadTopologyManager(reader, publish, options);
  publish.Finish();
}

void ReadConfig(YamlReader& reader, const YAML::Node& node, KubeProgramConfig& config) {
  YamlMapping mapping(reader, node, "");
  mapping.String("nodeName", config.node_name);
  mapping.String("kubeconfig", config.kubeconfig);
  mapping.String("runtimeSocket", config.runtime_socket);
  mapping.String("kubeletRoot", config.kubelet_root);
  mapping.String("stateDirectory", config.state_directory);
  mapping.String("metricsAddress", config.metrics_address);
  ReadPublish(reader, mapping, config.publish);
  ReadLogging(reader, mapping, config.log_format, config.log_level);
  mapping.Finish();
}

std::string PathOf(const ConfigFlags& flags) {
  return ConfigPath(flags.config, kDefaultConfigPath);
}

absl::Status CheckPaths(const KubeProgramConfig& config) {
  absl::Status problems;
  const std::pair<const char*, const std::string*> paths[] = {
      {"kubeconfig", &config.kubeconfig},
      {"kubeletRoot", &config.kubelet_root},
      {"stateDirectory", &config.state_directory}};
  for (const auto& [name, path] : paths) {
    if (absl::StartsWith(*path, "/") || (path == &config.kubeconfig && path->empty())) continue;
    problems = AlsoTell(problems, absl::InvalidArgumentError(absl::StrCat(
                                      name, ": \"", *path, "\" must be an absolute path")));
  }
  const std::pair<const char*, std::string> sockets[] = {
      {"runtimeSocket", config.runtime_socket},
      {"kubeletRoot", RegistrationSocketOf(config.kubelet_root)},
      {"kubeletRoot", DriverSocketOf(config.kubelet_root)}};
  for (const auto& [name, path] : sockets) {
    problems = AlsoTell(problems, Annotate(CheckSocketPath(path), name));
  }
  return problems;
}

absl::Status CheckWhole(const KubeProgramConfig& config) {
  absl::Status problems = CheckPaths(config);
  if (!IsDnsName(config.node_name)) {
    problems = AlsoTell(
        problems, absl::InvalidArgumentError(absl::StrCat(
                      "nodeName: \"", config.node_name,
                      "\" must be lower-case letters, digits, \"-\" and \".\", at most 253")));
  }
  if (!config.metrics_address.empty()) {
    problems =
        AlsoTell(problems, Annotate(CheckListenAddress(config.metrics_address), "metricsAddress"));
  }
  return AlsoTell(problems, CheckPublishOptions(config.publish));
}

std::string DefaultNodeName(const Environment& environment) {
  const char* const named = environment("NODE_NAME");
  return named != nullptr && *named != '\0' ? named : HostNameOfNode();
}

}  // namespace

absl::StatusOr<KubeProgramConfig> ParseConfig(absl::string_view text, absl::string_view file) {
  KubeProgramConfig config;
  PLIMSOLL_RETURN_IF_ERROR(ReadConfigText(
      text, file,
      [&config](YamlReader& reader, const YAML::Node& node) { ReadConfig(reader, node, config); }));
  return config;
}

absl::Status WithPlaces(const absl::Status& fault, const ConfigFlags& flags) {
  for (const auto* flag : {&flags.node_name, &flags.kubeconfig, &flags.runtime_socket,
                           &flags.kubelet_root, &flags.state_directory, &flags.metrics_address}) {
    if (flag->has_value()) return fault;
  }
  return plimsoll::WithPlaces(fault, PathOf(flags));
}

absl::StatusOr<KubeProgramConfig> LoadConfig(const ConfigFlags& flags,
                                             const Environment& environment) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            LoadConfigText(flags.config, kDefaultConfigPath));
  PLIMSOLL_ASSIGN_OR_RETURN(KubeProgramConfig config, ParseConfig(text, PathOf(flags)));
  config.node_name = flags.node_name.value_or(config.node_name);
  config.kubeconfig = flags.kubeconfig.value_or(config.kubeconfig);
  config.runtime_socket = flags.runtime_socket.value_or(config.runtime_socket);
  config.kubelet_root = flags.kubelet_root.value_or(config.kubelet_root);
  config.state_directory = flags.state_directory.value_or(config.state_directory);
  config.metrics_address = flags.metrics_address.value_or(config.metrics_address);
  config.log_level = flags.log_level.value_or(config.log_level);
  if (config.node_name.empty()) config.node_name = DefaultNodeName(environment);
  PLIMSOLL_RETURN_IF_ERROR(WithPlaces(CheckWhole(config), flags));
  return config;
}

}  // namespace plimsoll::kube
