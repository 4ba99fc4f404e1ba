// plimsoll nri
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/node_commands/node_commands.h"
#include "cli/node_commands/nri_report.h"

namespace plimsoll::cli {
namespace {

absl::Status PrintPlugins(const nlohmann::json& document, OutputFormat format) {
  return PrintJson(document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace), format);
}

// Looks at every container. One that goes meanwhile has no changes.
absl::StatusOr<std::vector<PluginChangeOf>> ChangesBy(pod::Client& client,
                                                      const std::string& plugin) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client.ListContainers());
  std::vector<PluginChangeOf> changes;
  for (const cri::Container& container : containers) {
    const auto status = client.ContainerStatus(container.id(), /*verbose=*/true);
    if (absl::IsNotFound(status.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(status.status());
    const std::string name =
        absl::StrCat(PodNameOf(container, pods), "/", container.metadata().name());
    for (PluginChangeOf& change : ChangesOf(*status, name)) {
      if (change.plugin == plugin) changes.push_back(std::move(change));
    }
  }
  return changes;
}

absl::StatusOr<int> ShowPlugin(const CommandContext& context, pod::Client& client,
                               const nlohmann::json& nri, const std::string& name) {
  if (!IsNriOn(nri)) {
    return absl::NotFoundError(absl::StrCat("there is no plugin '", name,
                                            "': the Node Resource Interface is off (nri.enabled in "
                                            "plimsolld.yaml)"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(nlohmann::json plugin, FindPlugin(nri, name));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto changes, ChangesBy(client, PluginNameOf(plugin)));
  if (!context.for_programs()) {
    Print(DescribePlugin(plugin, changes));
    return kExitOk;
  }
  plugin["changes"] = nlohmann::json::array();
  for (const PluginChangeOf& change : changes) {
    plugin["changes"].push_back({{"container", change.container},
                                 {"id", change.id},
                                 {"field", change.field},
                                 {"key", change.key}});
  }
  PLIMSOLL_RETURN_IF_ERROR(PrintPlugins(plugin, context.format()));
  return kExitOk;
}

absl::StatusOr<int> Nri(const CommandContext& context, const std::string& plugin) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect(/*may_start=*/false));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client->RuntimeStatus(/*verbose=*/true));
  PLIMSOLL_ASSIGN_OR_RETURN(const nlohmann::json nri, NriOf(status));
  if (!plugin.empty()) return ShowPlugin(context, *client, nri, plugin);
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintPlugins(nri, context.format()));
  } else {
    Print(DescribePlugins(nri));
  }
  return kExitOk;
}

}  // namespace

void AddNriCommand(CLI::App& app, CommandContext& context) {
  CLI::App* nri = app.add_subcommand(
      "nri",
      "Show the plugins of the Node Resource Interface: state, events, latencies, what they "
      "changed.\n\n"
      "With the name of a plugin: its requests, and each field of a container here that it set. "
      "The section `nri` of plimsolld.yaml configures the interface.");
  auto plugin = std::make_shared<std::string>();
  nri->add_option("plugin", *plugin, "A plugin, as 10-pinner or pinner")->type_name("PLUGIN");
  context.Act(nri, [&context, plugin] { return Nri(context, *plugin); });
}

}  // namespace plimsoll::cli
