// plimsoll inspect
#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/printable.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/lookup.h"
#include "cli/resource_report.h"

namespace plimsoll::cli {
namespace {

std::string TimeText(int64_t unix_nanos) {
  return unix_nanos == 0 ? "-"
                         : absl::FormatTime("%Y-%m-%d %H:%M:%S", absl::FromUnixNanos(unix_nanos),
                                            absl::LocalTimeZone());
}

const char* StateText(cri::ContainerState state) {
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

// A message's map has no order of its own.
template <typename Map>
void AddMap(std::string& text, absl::string_view name, const Map& map) {
  for (const auto& [key, value] : std::map<std::string, std::string>(map.begin(), map.end())) {
    AddLine(text, name, absl::StrCat(key, "=", value));
  }
}

// "gold", "gold (default)", and how the kernel differs from it. `classes` has them without the
// latter, for a daemon that tells no more.
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

std::string DescribeContainer(const cri::ContainerStatusResponse& response) {
  const cri::ContainerStatus& status = response.status();
  std::string text;
  AddLine(text, "container", status.metadata().name());
  AddLine(text, "id", status.id());
  std::string state = StateText(status.state());
  if (status.state() == cri::CONTAINER_EXITED) {
    absl::StrAppend(&state, ", exit code ", status.exit_code());
  }
  AddLine(text, "state", state);
  AddLine(text, "reason", status.reason());
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
  for (const cri::Mount& mount : status.mounts()) {
    AddLine(text, "mount",
            absl::StrCat(mount.container_path(), " from ", mount.host_path(),
                         mount.readonly() ? " (read-only)" : ""));
  }
  for (const auto& [name, value] : DescribeResources(status.resources().linux())) {
    AddLine(text, name, value);
  }
  AddClasses(text, status.class_resources().classes(), response.info());
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
  AddMap(text, "label", status.labels());
  AddMap(text, "annotation", status.annotations());
  if (const auto resources = PodResourcesOf(response); resources.has_value()) {
    for (const auto& [name, value] : DescribePodResources(*resources)) AddLine(text, name, value);
  }
  AddClasses(text, status.class_resources().class_(), response.info());
  return text;
}

absl::StatusOr<int> InspectPod(const CommandContext& context, Client& client,
                               const cri::PodSandbox& pod) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto response, client.PodSandboxStatus(pod.id(), /*verbose=*/true));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client.ListContainers(pod.id()));
  response.clear_containers_statuses();
  std::string text = DescribePod(response);
  for (const cri::Container& container : containers) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto status,
                              client.ContainerStatus(container.id(), /*verbose=*/true));
    *response.add_containers_statuses() = status.status();
    absl::StrAppend(&text, "\n", DescribeContainer(status));
  }
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(response, context.format()));
  } else {
    Print(text);
  }
  return kExitOk;
}

absl::StatusOr<int> Inspect(const CommandContext& context, const std::string& name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client->ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client->ListContainers());
  PLIMSOLL_ASSIGN_OR_RETURN(const PodOrContainer found, FindPodOrContainer(pods, containers, name));
  if (const auto* pod = std::get_if<cri::PodSandbox>(&found)) {
    return InspectPod(context, *client, *pod);
  }
  const std::string& id = std::get<cri::Container>(found).id();
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response, client->ContainerStatus(id, /*verbose=*/true));
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(response, context.format()));
  } else {
    Print(DescribeContainer(response));
  }
  return kExitOk;
}

}  // namespace

void AddInspectCommand(CLI::App& app, CommandContext& context) {
  CLI::App* inspect = app.add_subcommand("inspect", "Show everything about a pod or a container.");
  auto name = std::make_shared<std::string>();
  inspect->add_option("name", *name, "Name or id of a pod or container; POD/CONTAINER")
      ->type_name("POD|CONTAINER")
      ->required();
  context.Act(inspect, [&context, name] { return Inspect(context, *name); });
}

}  // namespace plimsoll::cli
