// plimsoll inspect
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/pod_commands/inspect_report.h"
#include "cli/pod_commands/pod_commands.h"
#include "cli/terminal/message_json.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

struct InspectArguments {
  std::string name;
  bool show_values = false;
};

absl::Status PrintDocument(const Json& document, OutputFormat format) {
  return PrintJson(document.dump(1, ' ', false, Json::error_handler_t::replace), format);
}

absl::StatusOr<Json> ContainerJson(const cri::ContainerStatusResponse& response, bool show_values) {
  PLIMSOLL_ASSIGN_OR_RETURN(Json json, MessageJson(response));
  if (!show_values) HideValues(json);
  return json;
}

// Empty when the image was removed.
cri::ImageStatusResponse ImageOf(pod::Client& client, const cri::ContainerStatus& status) {
  const std::string& id = status.image_id().empty() ? status.image_ref() : status.image_id();
  if (id.empty()) return {};
  return client.InspectImage(id).value_or(cri::ImageStatusResponse());
}

absl::StatusOr<int> InspectPod(const CommandContext& context, pod::Client& client,
                               const cri::PodSandbox& pod, bool show_values) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto response, client.PodSandboxStatus(pod.id(), /*verbose=*/true));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client.ListContainers(pod.id()));
  response.clear_containers_statuses();
  std::string text = DescribePod(response);
  Json statuses = Json::array();
  for (const cri::Container& container : containers) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto status,
                              client.ContainerStatus(container.id(), /*verbose=*/true));
    if (context.for_programs()) {
      PLIMSOLL_ASSIGN_OR_RETURN(Json json, ContainerJson(status, show_values));
      // The CRI's form, beside the values that it has no field for.
      json["status"]["info"] = json["info"];
      statuses.push_back(json["status"]);
    } else {
      absl::StrAppend(
          &text, "\n",
          DescribeContainer(status, nullptr, ImageOf(client, status.status()), show_values));
    }
  }
  if (context.for_programs()) {
    PLIMSOLL_ASSIGN_OR_RETURN(Json json, MessageJson(response));
    json["containersStatuses"] = std::move(statuses);
    PLIMSOLL_RETURN_IF_ERROR(PrintDocument(json, context.format()));
  } else {
    Print(text);
  }
  return kExitOk;
}

absl::StatusOr<int> InspectContainer(const CommandContext& context, pod::Client& client,
                                     const cri::Container& container, bool show_values) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto response,
                            client.ContainerStatus(container.id(), /*verbose=*/true));
  if (context.for_programs()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const Json json, ContainerJson(response, show_values));
    PLIMSOLL_RETURN_IF_ERROR(PrintDocument(json, context.format()));
    return kExitOk;
  }
  const auto pod = client.PodSandboxStatus(container.pod_sandbox_id(), /*verbose=*/true);
  if (!absl::IsNotFound(pod.status())) PLIMSOLL_RETURN_IF_ERROR(pod.status());
  Print(DescribeContainer(response, pod.ok() ? &*pod : nullptr, ImageOf(client, response.status()),
                          show_values));
  return kExitOk;
}

absl::StatusOr<int> Inspect(const CommandContext& context, const InspectArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client->ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client->ListContainers());
  PLIMSOLL_ASSIGN_OR_RETURN(const PodOrContainer found,
                            FindPodOrContainer(pods, containers, arguments.name));
  if (const auto* pod = std::get_if<cri::PodSandbox>(&found)) {
    return InspectPod(context, *client, *pod, arguments.show_values);
  }
  return InspectContainer(context, *client, std::get<cri::Container>(found), arguments.show_values);
}

}  // namespace

void AddInspectCommand(CLI::App& app, CommandContext& context) {
  CLI::App* inspect = app.add_subcommand(
      "inspect",
      "Show everything about a pod or a container.\n\n"
      "Of several pods of a name the running one is meant, else the newest.\n\n"
      "Values of environment variables may be secrets. Without --show-values only the names are "
      "shown, in JSON and YAML with null as the value.");
  auto arguments = std::make_shared<InspectArguments>();
  inspect->add_option("name", arguments->name, "Name or id of a pod or container; POD/CONTAINER")
      ->type_name("POD|CONTAINER")
      ->required();
  inspect->add_flag("--show-values", arguments->show_values,
                    "Show the values of environment variables too");
  context.Act(inspect, [&context, arguments] { return Inspect(context, *arguments); });
}

}  // namespace plimsoll::cli
