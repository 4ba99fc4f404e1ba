// plimsoll get
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/agent_commands/agent_commands.h"
#include "cli/agent_commands/agent_connect.h"
#include "cli/agent_commands/agent_tables.h"
#include "cli/agent_commands/agent_watch.h"
#include "cli/command/command.h"
#include "cli/terminal/interrupts.h"
#include "cli/terminal/object_fields.h"
#include "cli/terminal/reader_watch.h"

namespace plimsoll::cli {
namespace {

struct GetArguments {
  std::vector<std::string> names;
  std::string pod_namespace;
  bool all_namespaces = false;
  bool watch = false;

  ObjectSelection selection() const { return {names, all_namespaces ? "" : pod_namespace}; }
};

std::string Dump(const KubeObject& object, int indent) {
  return object.dump(indent, ' ', false, KubeObject::error_handler_t::replace);
}

absl::Status PrintObject(const KubeObject& object, const CommandContext& context) {
  return PrintJson(Dump(object, 1), context.format());
}

// One object as it is, several as a list.
absl::Status PrintObjects(const std::vector<KubeObject>& objects, bool single,
                          const CommandContext& context) {
  if (single && objects.size() == 1) return PrintObject(objects.front(), context);
  return PrintObject({{"apiVersion", "v1"}, {"kind", "List"}, {"items", objects}}, context);
}

// A usage error: names need one namespace.
absl::Status CheckNames(const GetArguments& arguments) {
  if (arguments.names.empty() || !arguments.all_namespaces) return absl::OkStatus();
  return UsageError(absl::InvalidArgumentError(
      "--all-namespaces can't be given with names: a name is one of a namespace"));
}

void NoteNoPods(const GetArguments& arguments) {
  PrintNote(arguments.all_namespaces
                ? "No pods.\n"
                : absl::StrCat("No pods in namespace ", arguments.pod_namespace,
                               ". --all-namespaces lists all.\n"));
}

absl::StatusOr<int> GetPods(const CommandContext& context, const GetArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::StatusOr<std::vector<KubeObject>> pods = ReadPods(*client, arguments.selection());
  if (!pods.ok()) {
    return WithAgentHint(pods.status(), "`plimsoll pods` lists pods of the runtime.");
  }
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintObjects(*pods, arguments.names.size() == 1, context));
    return kExitOk;
  }
  if (pods->empty()) {
    NoteNoPods(arguments);
    return kExitOk;
  }
  AgentPodTable table({context.format() == OutputFormat::kWide, arguments.all_namespaces});
  Print(table.Whole(*pods, absl::Now()));
  return kExitOk;
}

// Runs `watch` until Ctrl-C.
absl::StatusOr<int> UntilInterrupted(
    const CommandContext& context,
    const std::function<absl::Status(const agent::AgentClient& client)>& watch) {
  Interrupts interrupts;
  const ReaderWatch reader;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::Cleanup deaf = [&interrupts] { interrupts.OnInterrupt(nullptr); };
  interrupts.OnInterrupt([&client](int) { client->Abandon(); });
  const absl::Status status = watch(*client);
  if (interrupts.count() > 0 || status.ok()) return kExitOk;
  return WithAgentHint(status);
}

absl::StatusOr<int> GetNode(const CommandContext& context) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::StatusOr<KubeObject> node = client->Node();
  if (!node.ok()) {
    return WithAgentHint(node.status(), "`plimsoll topology` shows the node to the runtime.");
  }
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintObject(*node, context));
    return kExitOk;
  }
  const absl::StatusOr<std::vector<KubeObject>> pods = client->List("");
  if (!pods.ok()) return WithAgentHint(pods.status());
  Print(AgentNodeTable(*node, *pods, context.format() == OutputFormat::kWide, absl::Now()));
  return kExitOk;
}

absl::StatusOr<int> GetEvents(const CommandContext& context, const GetArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::StatusOr<std::vector<KubeObject>> events =
      client->Events(arguments.selection().pod_namespace, "");
  if (!events.ok()) {
    return WithAgentHint(events.status(), "`plimsoll events` prints the runtime's.");
  }
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintObjects(*events, /*single=*/false, context));
    return kExitOk;
  }
  if (events->empty()) {
    PrintNote(arguments.all_namespaces
                  ? "No events.\n"
                  : absl::StrCat("No events in namespace ", arguments.pod_namespace,
                                 ". --all-namespaces lists all, the node's too.\n"));
    return kExitOk;
  }
  Print(AgentEventTable(*events, {.namespaces = arguments.all_namespaces}, absl::Now()));
  return kExitOk;
}

absl::StatusOr<std::vector<KubeObject>> ReadAgentQuotas(const agent::AgentClient& client,
                                                        const ObjectSelection& selection) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::vector<KubeObject> all, client.Quotas(selection.pod_namespace));
  if (selection.names.empty()) return all;
  std::vector<KubeObject> chosen;
  for (const std::string& name : selection.names) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const KubeObject& quota) {
      return TextOf(quota, {"metadata", "name"}) == name;
    });
    if (at == all.end()) {
      return absl::NotFoundError(
          absl::StrCat("no quota ", name, " in namespace ", selection.pod_namespace));
    }
    chosen.push_back(*at);
  }
  return chosen;
}

absl::StatusOr<int> GetQuotas(const CommandContext& context, const GetArguments& arguments) {
  PLIMSOLL_RETURN_IF_ERROR(CheckNames(arguments));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const auto quotas = ReadAgentQuotas(*client, arguments.selection());
  if (!quotas.ok()) return WithAgentHint(quotas.status());
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintObjects(*quotas, arguments.names.size() == 1, context));
    return kExitOk;
  }
  if (quotas->empty()) {
    PrintNote("No quotas: pods may have every class of the node.\n");
    return kExitOk;
  }
  Print(AgentQuotaTable(*quotas, arguments.all_namespaces));
  return kExitOk;
}

void AddPlaceOptions(CLI::App& command, GetArguments& arguments) {
  AddNamespaceOption(command, &arguments.pod_namespace);
  command.add_flag("-A,--all-namespaces", arguments.all_namespaces, "Of all namespaces");
}

void AddWatchOption(CLI::App& command, GetArguments& arguments) {
  command.add_flag("-w,--watch", arguments.watch, "Go on with what changes, until Ctrl-C");
}

void AddGetPods(CLI::App& get, CommandContext& context) {
  CLI::App* pods = get.add_subcommand("pods",
                                      "List the agent's pods.\n\n"
                                      "With --watch it goes on with each change until Ctrl-C; -o "
                                      "json then prints an object a line, "
                                      "with `type` (ADDED, MODIFIED, DELETED) and `object`.");
  pods->alias("pod")->alias("po");
  auto arguments = std::make_shared<GetArguments>();
  pods->add_option("name", arguments->names, "Only these")->type_name("POD-NAME");
  AddPlaceOptions(*pods, *arguments);
  AddWatchOption(*pods, *arguments);
  context.Act(pods, [&context, arguments]() -> absl::StatusOr<int> {
    PLIMSOLL_RETURN_IF_ERROR(CheckNames(*arguments));
    if (!arguments->watch) return GetPods(context, *arguments);
    return UntilInterrupted(context, [&](const agent::AgentClient& client) {
      return WatchAgentPods(client, arguments->selection(), context);
    });
  });
}

void AddGetQuotas(CLI::App& get, CommandContext& context) {
  CLI::App* quotas = get.add_subcommand(
      "quota",
      "List the quotas of QoS classes.\n\n"
      "A quota is a v1 ResourceQuota in the agent's directory of objects. It says which classes "
      "pods of its namespace may have, and how many: used, of what is allowed.");
  quotas->alias("quotas")->alias("resourcequota")->alias("resourcequotas");
  auto arguments = std::make_shared<GetArguments>();
  quotas->add_option("name", arguments->names, "Only these")->type_name("QUOTA");
  AddPlaceOptions(*quotas, *arguments);
  context.Act(quotas, [&context, arguments] { return GetQuotas(context, *arguments); });
}

}  // namespace

void AddGetCommand(CLI::App& app, CommandContext& context) {
  CLI::App* get =
      app.add_subcommand("get", "List what the agent has: pods, its node, events, quotas.");
  get->require_subcommand(1);
  AddGetPods(*get, context);

  CLI::App* node = get->add_subcommand(
      "node",
      "Show the agent's node.\n\n"
      "CPU, memory and pods: what pods request, of what is allocatable to them. -o wide has the "
      "capacity too.");
  node->alias("nodes")->alias("no");
  auto of_node = std::make_shared<GetArguments>();
  AddWatchOption(*node, *of_node);
  context.Act(node, [&context, of_node]() -> absl::StatusOr<int> {
    if (!of_node->watch) return GetNode(context);
    return UntilInterrupted(
        context, [&](const agent::AgentClient& client) { return WatchAgentNode(client, context); });
  });

  AddGetQuotas(*get, context);

  CLI::App* events = get->add_subcommand("events", "List the agent's events, oldest first.");
  events->alias("event")->alias("ev");
  auto arguments = std::make_shared<GetArguments>();
  AddPlaceOptions(*events, *arguments);
  AddWatchOption(*events, *arguments);
  context.Act(events, [&context, arguments]() -> absl::StatusOr<int> {
    if (!arguments->watch) return GetEvents(context, *arguments);
    return UntilInterrupted(context, [&](const agent::AgentClient& client) {
      return WatchAgentEvents(client, arguments->selection(), context);
    });
  });
}

}  // namespace plimsoll::cli
