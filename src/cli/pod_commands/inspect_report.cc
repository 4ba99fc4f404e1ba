#include "cli/pod_commands/inspect_report.h"

#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/text/printable.h"
#include "cli/node_commands/nri_report.h"
#include "cli/pod_commands/resource_report.h"
#include "cli/terminal/text.h"

namespace plimsoll::cli {
namespace {

std::string TimeText(int64_t unix_nanos) {
  return unix_nanos == 0 ? "-"
                         : absl::FormatTime("%Y-%m-%d %H:%M:%S %Ez",
                                            absl::FromUnixNanos(unix_nanos), absl::LocalTimeZone());
}

const char* StateWords(cri::ContainerState state) {
  switch (state) {
    case cri::CONTAINER_CREATED:
      return "created, not started";
    case cri::CONTAINER_RUNNING:
      return "running";
    case cri::CONTAINER_EXITED:
      return "exited";
    default:
      return "unknown";
  }
}

void AddLine(std::string& text, absl::string_view name, absl::string_view value) {
  if (value.empty()) return;
  std::string line = absl::StrCat(name, ":");
  line.resize(std::max<size_t>(line.size() + 1, 24), ' ');
  absl::StrAppend(&text, line, Printable(value), "\n");
}

// The pairs of a message's map, sorted: the map itself has no order.
template <typename Map>
void AddMap(std::string& text, absl::string_view name, const Map& map) {
  for (const auto& [key, value] : std::map<std::string, std::string>(map.begin(), map.end())) {
    AddLine(text, name, absl::StrCat(key, "=", value));
  }
}

// "gold", "gold (default)", with the kernel's difference from the class. `classes` lacks the
// difference: it serves for a daemon without this message.
template <typename Map, typename Info>
void AddClasses(std::string& text, const Map& classes, const Info& info) {
  const auto at = info.find("classes");
  const auto details = at == info.end() ? nlohmann::json::object()
                                        : nlohmann::json::parse(at->second, nullptr,
                                                                /*allow_exceptions=*/false);
  for (const auto& [type, name] :
       std::map<std::string, std::string>(classes.begin(), classes.end())) {
    std::string value = name;
    std::string drift;
    if (details.is_object() && details.contains(type) && details[type].is_object()) {
      if (details[type].value("implicit", false)) absl::StrAppend(&value, " (default)");
      drift = details[type].value("drift", "");
    }
    AddLine(text, absl::StrCat("class ", type), value);
    AddLine(text, "  but", drift);
  }
}

// A JSON document of a verbose answer; empty: it is missing.
template <typename Response>
nlohmann::json InfoOf(const Response& response, const char* name) {
  const auto at = response.info().find(name);
  if (at == response.info().end()) return nlohmann::json::object();
  nlohmann::json json = nlohmann::json::parse(at->second, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : nlohmann::json::object();
}

nlohmann::json Member(const nlohmann::json& json, const char* name) {
  return json.is_object() && json.contains(name) ? json[name] : nlohmann::json();
}

std::string TextMember(const nlohmann::json& json, const char* name) {
  const nlohmann::json member = Member(json, name);
  return member.is_string() ? member.get<std::string>() : "";
}

std::string NumberMember(const nlohmann::json& json, const char* name) {
  const nlohmann::json member = Member(json, name);
  return member.is_number_integer() ? absl::StrCat(member.get<int64_t>()) : "0";
}

std::vector<std::string> Texts(const nlohmann::json& list) {
  std::vector<std::string> texts;
  if (!list.is_array()) return texts;
  for (const nlohmann::json& item : list) {
    if (item.is_string()) texts.push_back(item.get<std::string>());
  }
  return texts;
}

// In Kubernetes a command of the container replaces the image's entrypoint and arguments.
// Arguments of the container replace the image's arguments only.
std::vector<std::string> CommandOf(const nlohmann::json& spec, const nlohmann::json& image) {
  std::vector<std::string> command = Texts(Member(spec, "command"));
  std::vector<std::string> arguments = Texts(Member(spec, "args"));
  if (command.empty()) {
    command = Texts(Member(image, "entrypoint"));
    if (arguments.empty()) arguments = Texts(Member(image, "command"));
  }
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

// The image's variables, overridden by the container's.
std::map<std::string, std::string> EnvironmentOf(const nlohmann::json& spec,
                                                 const nlohmann::json& image) {
  std::map<std::string, std::string> environment;
  for (const std::string& entry : Texts(Member(image, "environment"))) {
    const size_t equals = entry.find('=');
    environment[entry.substr(0, equals)] =
        equals == std::string::npos ? "" : entry.substr(equals + 1);
  }
  for (const nlohmann::json& entry : Member(spec, "environment")) {
    environment[TextMember(entry, "name")] = TextMember(entry, "value");
  }
  return environment;
}

void AddCommandLine(std::string& text, const nlohmann::json& spec, const nlohmann::json& image,
                    bool show_values) {
  std::vector<std::string> words = CommandOf(spec, image);
  for (std::string& word : words) word = ShellQuote(word);
  AddLine(text, "command", absl::StrJoin(words, " "));
  const std::string own = TextMember(spec, "working_directory");
  std::string of_image = TextMember(image, "workingDirectory");
  if (!of_image.empty() && of_image.front() != '/') of_image.insert(0, "/");
  AddLine(text, "working directory", own.empty() ? of_image : own);
  const auto environment = EnvironmentOf(spec, image);
  if (show_values) {
    AddMap(text, "environment", environment);
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, value] : environment) names.push_back(name);
  if (names.empty()) return;
  AddLine(text, "environment", absl::StrCat(absl::StrJoin(names, ", "), "  (--show-values)"));
}

void AddPorts(std::string& text, const cri::PodSandboxStatusResponse& pod) {
  const nlohmann::json network = Member(Member(InfoOf(pod, "info"), "spec"), "network");
  for (const nlohmann::json& port : Member(network, "port_mappings")) {
    const std::string host_ip = TextMember(port, "host_ip");
    const std::string protocol = TextMember(port, "protocol");
    AddLine(
        text, "port",
        absl::StrCat(NumberMember(port, "container_port"), "/", protocol.empty() ? "tcp" : protocol,
                     " from ", host_ip.empty() ? "" : host_ip + ":",
                     NumberMember(port, "host_port"), " of the host"));
  }
}

// The fields that plugins have set.
void AddChanges(std::string& text, const cri::ContainerStatusResponse& response) {
  for (const PluginChangeOf& change : ChangesOf(response, "")) {
    AddLine(text, absl::StrCat("by ", change.plugin),
            absl::StrCat(change.field, change.key.empty() ? "" : " ", change.key));
  }
}

// How much is known of the needs of a pod of which kubelet told them.
void AddPicture(std::string& text, const cri::PodSandboxStatusResponse& pod) {
  const nlohmann::json picture = InfoOf(pod, "podResources");
  const std::string total = TextMember(Member(picture, "sources"), "total");
  if (total != "kubelet" && Member(picture, "why").empty() && Member(picture, "grants").empty()) {
    return;
  }
  AddLine(text, "needs",
          absl::StrCat(TextMember(picture, "picture"), total.empty() ? "" : ", by ", total));
  for (const std::string& missing : Texts(Member(picture, "missing"))) {
    AddLine(text, "  not known", missing);
  }
}

}  // namespace

std::string DescribeContainer(const cri::ContainerStatusResponse& response,
                              const cri::PodSandboxStatusResponse* pod,
                              const cri::ImageStatusResponse& image, bool show_values) {
  const cri::ContainerStatus& status = response.status();
  std::string text;
  AddLine(text, "container", status.metadata().name());
  AddLine(text, "id", status.id());
  if (pod != nullptr) {
    AddLine(
        text, "pod",
        absl::StrCat(pod->status().metadata().namespace_(), "/", pod->status().metadata().name()));
  }
  std::string state = StateWords(status.state());
  if (status.state() == cri::CONTAINER_EXITED) {
    absl::StrAppend(&state, ", exit code ", status.exit_code());
  }
  AddLine(text, "state", state);
  AddLine(text, "reason", status.reason());
  AddLine(text, "restarts", absl::StrCat(status.metadata().attempt()));
  if (status.user().has_linux()) {
    const cri::LinuxContainerUser& user = status.user().linux();
    AddLine(text, "user", absl::StrCat(user.uid(), ", group ", user.gid()));
  }
  AddLine(text, "message", status.message());
  AddLine(text, "image", status.image().image());
  AddLine(text, "image id", status.image_id());
  AddLine(text, "created", TimeText(status.created_at()));
  AddLine(text, "started", TimeText(status.started_at()));
  AddLine(text, "finished", TimeText(status.finished_at()));
  AddLine(text, "log", status.log_path());
  AddCommandLine(text, Member(InfoOf(response, "info"), "spec"), InfoOf(image, "info"),
                 show_values);
  for (const cri::Mount& mount : status.mounts()) {
    AddLine(text, "mount",
            absl::StrCat(mount.container_path(), " from ", mount.host_path(),
                         mount.readonly() ? " (read-only)" : ""));
  }
  if (pod != nullptr) AddPorts(text, *pod);
  for (const auto& [name, value] : DescribeResources(status.resources().linux())) {
    AddLine(text, name, value);
  }
  AddClasses(text, status.class_resources().classes(), response.info());
  AddChanges(text, response);
  return text;
}

std::string DescribePod(const cri::PodSandboxStatusResponse& response) {
  const cri::PodSandboxStatus& status = response.status();
  std::string text;
  AddLine(text, "pod", absl::StrCat(status.metadata().namespace_(), "/", status.metadata().name()));
  AddLine(text, "id", status.id());
  AddLine(text, "uid", status.metadata().uid());
  AddLine(text, "state", status.state() == cri::SANDBOX_READY ? "ready" : "stopped");
  AddLine(text, "created", TimeText(status.created_at()));
  AddLine(text, "address", status.network().ip());
  for (const cri::PodIP& more : status.network().additional_ips()) {
    AddLine(text, "address", more.ip());
  }
  AddPorts(text, response);
  AddMap(text, "label", status.labels());
  AddMap(text, "annotation", status.annotations());
  if (const auto resources = PodResourcesOf(response); resources.has_value()) {
    for (const auto& [name, value] : DescribePodResources(*resources)) AddLine(text, name, value);
  }
  AddPicture(text, response);
  AddClasses(text, status.class_resources().class_(), response.info());
  return text;
}

void HideValues(nlohmann::ordered_json& status) {
  const auto info = nlohmann::ordered_json::json_pointer("/info/info/spec/environment");
  if (!status.contains(info)) return;
  for (nlohmann::ordered_json& variable : status[info]) {
    if (variable.is_object()) variable["value"] = nullptr;
  }
}

}  // namespace plimsoll::cli
