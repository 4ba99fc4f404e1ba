#include "pod_runner/manifest/manifest_probes.h"

#include <limits>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text/closest_word.h"
#include "pod_runner/manifest/manifest_fields.h"

namespace plimsoll::pod {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

// A port is a number or the name of one of the container's ports.
int64_t ReadActionPort(YamlReader& reader, YamlMapping& mapping,
                       const ContainerManifest& container) {
  const auto node = mapping.Get("port");
  const std::string path = mapping.PathOf("port");
  if (!node) {
    reader.Fail(mapping.node(), mapping.path(), "\"port\" is missing");
    return 0;
  }
  const auto text = reader.AsText(*node, path);
  int64_t port = 0;
  if (!text) return 0;
  if (absl::SimpleAtoi(*text, &port)) {
    if (port < 1 || port > 65535) reader.Fail(*node, path, "must be from 1 to 65535");
    return port;
  }
  const auto named = container.named_ports.find(*text);
  if (named != container.named_ports.end()) return named->second;
  std::vector<std::string> names;
  for (const auto& [name, number] : container.named_ports) names.push_back(name);
  const std::string closest = ClosestWord(*text, names);
  reader.Fail(
      *node, path,
      absl::StrCat("the container has no port named \"", *text, "\"",
                   closest.empty() ? "" : absl::StrCat("; did you mean \"", closest, "\"?")));
  return 0;
}

Action ReadExec(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  ExecAction action;
  YamlMapping mapping(reader, node, path);
  mapping.Strings("command", action.command);
  mapping.Finish();
  if (action.command.empty()) reader.Fail(node, path, "\"command\" is missing or empty");
  return action;
}

Action ReadHttpGet(YamlReader& reader, const YAML::Node& node, const std::string& path,
                   const ContainerManifest& container) {
  HttpGetAction action;
  YamlMapping mapping(reader, node, path);
  mapping.String("host", action.host);
  action.port = ReadActionPort(reader, mapping, container);
  mapping.String("path", action.path);
  if (action.path.empty()) action.path = "/";
  mapping.OneOf("scheme", action.scheme, {"HTTP", "HTTPS"});
  mapping.Each("httpHeaders", [&](const YAML::Node& item, const std::string& item_path) {
    YamlMapping header(reader, item, item_path);
    std::string name, value;
    header.Required("name", name);
    header.String("value", value);
    header.Finish();
    // A line break would begin another header.
    if (absl::StrContains(name + value, "\n") || absl::StrContains(name + value, "\r")) {
      reader.Fail(item, item_path, "must not have a line break");
    }
    action.headers.emplace_back(std::move(name), std::move(value));
  });
  mapping.Finish();
  return action;
}

Action ReadTcpSocket(YamlReader& reader, const YAML::Node& node, const std::string& path,
                     const ContainerManifest& container) {
  TcpSocketAction action;
  YamlMapping mapping(reader, node, path);
  mapping.String("host", action.host);
  action.port = ReadActionPort(reader, mapping, container);
  mapping.Finish();
  return action;
}

Action ReadGrpc(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  GrpcAction action;
  YamlMapping mapping(reader, node, path);
  std::optional<int64_t> port;
  mapping.Int("port", port, 1, 65535);
  if (!port) reader.Fail(node, path, "\"port\" is missing");
  action.port = port.value_or(0);
  mapping.String("service", action.service);
  mapping.Finish();
  return action;
}

Action ReadSleep(YamlReader& reader, const YAML::Node& node, const std::string& path) {
  SleepAction action;
  YamlMapping mapping(reader, node, path);
  ReadInt(mapping, "seconds", action.seconds, 0, 86400);
  mapping.Finish();
  return action;
}

// nullopt: the mapping has no action, or several.
std::optional<Action> ReadAction(YamlReader& reader, YamlMapping& mapping, bool is_probe,
                                 const ContainerManifest& container) {
  std::vector<Action> actions;
  const std::string last = is_probe ? "grpc" : "sleep";
  if (const auto node = mapping.Get("exec")) {
    actions.push_back(ReadExec(reader, *node, mapping.PathOf("exec")));
  }
  if (const auto node = mapping.Get("httpGet")) {
    actions.push_back(ReadHttpGet(reader, *node, mapping.PathOf("httpGet"), container));
  }
  if (const auto node = is_probe ? mapping.Get("tcpSocket") : std::nullopt) {
    actions.push_back(ReadTcpSocket(reader, *node, mapping.PathOf("tcpSocket"), container));
  }
  if (const auto node = mapping.Get(last)) {
    actions.push_back(is_probe ? ReadGrpc(reader, *node, mapping.PathOf(last))
                               : ReadSleep(reader, *node, mapping.PathOf(last)));
  }
  if (actions.size() == 1) return std::move(actions.front());
  reader.Fail(mapping.node(), mapping.path(),
              absl::StrCat("needs exactly one of exec, httpGet", is_probe ? ", tcpSocket" : "",
                           " and ", last));
  return std::nullopt;
}

// Reads a number from 1 up, for which 0 stands for the default: an API server replaces it.
void ReadFromOne(YamlMapping& mapping, const std::string& key, int64_t& out, int64_t max) {
  const auto node = mapping.Get(key);
  int64_t value = 0;
  const bool is_number =
      node && node->IsScalar() && node->Tag() == "?" && absl::SimpleAtoi(node->Scalar(), &value);
  if (is_number && value == 0) return;
  ReadInt(mapping, key, out, 1, max);
}

enum class ProbeKind { kLiveness, kReadiness, kStartup };

std::optional<Probe> ReadProbe(YamlReader& reader, const YAML::Node& node, const std::string& path,
                               ProbeKind kind, const ContainerManifest& container) {
  Probe probe;
  YamlMapping mapping(reader, node, path);
  const std::optional<Action> action = ReadAction(reader, mapping, /*is_probe=*/true, container);
  ReadInt(mapping, "initialDelaySeconds", probe.initial_delay_s, 0, kMaxInt32);
  ReadFromOne(mapping, "timeoutSeconds", probe.timeout_s, kMaxInt32);
  ReadFromOne(mapping, "periodSeconds", probe.period_s, kMaxInt32);
  ReadFromOne(mapping, "successThreshold", probe.success_threshold,
              kind == ProbeKind::kReadiness ? kMaxInt32 : 1);
  ReadFromOne(mapping, "failureThreshold", probe.failure_threshold, kMaxInt32);
  if (kind == ProbeKind::kReadiness) {
    mapping.Refuse("terminationGracePeriodSeconds", "a readiness probe ends no container");
  } else {
    mapping.Int("terminationGracePeriodSeconds", probe.grace_period_s, 1, kMaxInt32);
  }
  mapping.Finish();
  if (!action) return std::nullopt;
  probe.action = *action;
  return probe;
}

void ReadLifecycle(YamlReader& reader, const YAML::Node& node, const std::string& path,
                   ContainerManifest& container) {
  YamlMapping mapping(reader, node, path);
  const auto hook = [&](const char* key, std::optional<Action>& out) {
    const auto found = mapping.Get(key);
    if (!found) return;
    YamlMapping handler(reader, *found, mapping.PathOf(key));
    out = ReadAction(reader, handler, /*is_probe=*/false, container);
    // Kubernetes takes such a hook for old manifests' sake, and each run of it fails.
    handler.Refuse("tcpSocket", "no kubelet runs such a hook; use exec, httpGet or sleep");
    handler.Finish();
  };
  hook("postStart", container.lifecycle.post_start);
  hook("preStop", container.lifecycle.pre_stop);
  mapping.String("stopSignal", container.lifecycle.stop_signal);
  const std::string& signal = container.lifecycle.stop_signal;
  if (!signal.empty() && !absl::StartsWith(signal, "SIG")) {
    reader.Fail(node, mapping.PathOf("stopSignal"),
                absl::StrCat("\"", signal, "\" must be a signal's name, such as SIGUSR1"));
  }
  mapping.Finish();
}

}  // namespace

void ReadProbes(YamlReader& reader, YamlMapping& mapping, bool has_probes,
                ContainerManifest& container, std::vector<std::string>& left_to_agent) {
  const auto probe = [&](const char* key, ProbeKind kind, std::optional<Probe>& out) {
    const auto node = mapping.Get(key);
    if (!node) return;
    const std::string path = mapping.PathOf(key);
    if (!has_probes) {
      reader.Fail(*node, path, "only containers and sidecars have one: an init container ends");
      return;
    }
    out = ReadProbe(reader, *node, path, kind, container);
    left_to_agent.push_back(absl::StrCat(reader.Where(*node, path), "nothing probes"));
  };
  probe("livenessProbe", ProbeKind::kLiveness, container.liveness);
  probe("readinessProbe", ProbeKind::kReadiness, container.readiness);
  probe("startupProbe", ProbeKind::kStartup, container.startup);
  if (const auto node = mapping.Get("lifecycle")) {
    if (!has_probes) {
      reader.Fail(*node, mapping.PathOf("lifecycle"),
                  "only containers and sidecars have one: an init container ends");
    }
    ReadLifecycle(reader, *node, mapping.PathOf("lifecycle"), container);
  }
}

}  // namespace plimsoll::pod
