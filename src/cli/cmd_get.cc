// plimsoll get
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/agent_connect.h"
#include "cli/agent_tables.h"
#include "cli/command.h"
#include "cli/interrupts.h"
#include "cli/object_fields.h"
#include "cli/reader_watch.h"

namespace plimsoll::cli {
namespace {

struct GetArguments {
  std::vector<std::string> names;
  std::string pod_namespace;
  bool all_namespaces = false;
  bool watch = false;

  // As the agent takes it: empty for all.
  std::string where() const { return all_namespaces ? "" : pod_namespace; }
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

absl::StatusOr<std::vector<KubeObject>> ReadPods(const agent::Client& client,
                                                 const GetArguments& arguments) {
  if (arguments.names.empty()) return client.List(arguments.where());
  std::vector<KubeObject> pods;
  for (const std::string& name : arguments.names) {
    PLIMSOLL_ASSIGN_OR_RETURN(KubeObject pod, client.Get(arguments.pod_namespace, name));
    pods.push_back(std::move(pod));
  }
  return pods;
}

void NoteNoPods(const GetArguments& arguments) {
  PrintNote(arguments.all_namespaces
                ? "No pods.\n"
                : absl::StrCat("No pods in namespace ", arguments.pod_namespace,
                               ". --all-namespaces lists all.\n"));
}

absl::StatusOr<int> GetPods(const CommandContext& context, const GetArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::StatusOr<std::vector<KubeObject>> pods = ReadPods(*client, arguments);
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

// Prints pods as they change, until Ctrl-C.
class PodWatch {
 public:
  PodWatch(const CommandContext& context, const GetArguments& arguments,
           const agent::Client& client)
      : context_(context),
        arguments_(arguments),
        client_(client),
        table_({context.format() == OutputFormat::kWide, arguments.all_namespaces}) {}

  absl::Status Run() {
    if (!context_.for_programs()) {
      PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<KubeObject> pods, ReadPods(client_, arguments_));
      Print(table_.Whole(pods, absl::Now()));
      shown_.insert(pods.begin(), pods.end());
    }
    const bool one = arguments_.names.size() == 1;
    const absl::Status status = client_.Watch(
        arguments_.where(), one ? arguments_.names.front() : "",
        [this](const std::string& type, const KubeObject& pod) { return Take(type, pod); });
    return failure_.ok() ? status : failure_;
  }

 private:
  bool Take(const std::string& type, const KubeObject& pod) {
    if (!IsWanted(pod)) return true;
    if (context_.for_programs()) {
      if (context_.format() == OutputFormat::kYaml) Print("---\n");
      failure_ = PrintJson(Dump({{"type", type}, {"object", pod}}, -1), context_.format());
      return failure_.ok();
    }
    // The watch begins with the pods that the table has already.
    if (type != "ADDED" || shown_.erase(pod) == 0) Print(table_.Row(pod, absl::Now()));
    return true;
  }
  bool IsWanted(const KubeObject& pod) const {
    const std::string name = TextOf(pod, {"metadata", "name"});
    return arguments_.names.empty() || std::find(arguments_.names.begin(), arguments_.names.end(),
                                                 name) != arguments_.names.end();
  }

  const CommandContext& context_;
  const GetArguments& arguments_;
  const agent::Client& client_;
  AgentPodTable table_;
  std::set<KubeObject> shown_;  // by the first table, and not told by the watch yet
  absl::Status failure_;
};

absl::StatusOr<int> WatchPods(const CommandContext& context, const GetArguments& arguments) {
  Interrupts interrupts;
  const ReaderWatch reader;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::Cleanup deaf = [&interrupts] { interrupts.OnInterrupt(nullptr); };
  interrupts.OnInterrupt([&client](int) { client->Abandon(); });
  const absl::Status status = PodWatch(context, arguments, *client).Run();
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
  const absl::StatusOr<std::vector<KubeObject>> events = client->Events(arguments.where(), "");
  if (!events.ok()) {
    return WithAgentHint(events.status(), "`plimsoll events` prints the runtime's.");
  }
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintObjects(*events, /*single=*/false, context));
    return kExitOk;
  }
  if (events->empty()) {
    PrintNote("No events.\n");
    return kExitOk;
  }
  Print(AgentEventTable(*events, {.namespaces = arguments.all_namespaces}, absl::Now()));
  return kExitOk;
}

void AddPlaceOptions(CLI::App& command, GetArguments& arguments) {
  AddNamespaceOption(command, &arguments.pod_namespace);
  command.add_flag("-A,--all-namespaces", arguments.all_namespaces, "Of all namespaces");
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
  pods->add_flag("-w,--watch", arguments->watch, "Go on with what changes");
  context.Act(pods, [&context, arguments]() -> absl::StatusOr<int> {
    PLIMSOLL_RETURN_IF_ERROR(CheckNames(*arguments));
    return arguments->watch ? WatchPods(context, *arguments) : GetPods(context, *arguments);
  });
}

}  // namespace

void AddGetCommand(CLI::App& app, CommandContext& context) {
  CLI::App* get = app.add_subcommand("get", "List what the agent has: pods, its node, events.");
  get->require_subcommand(1);
  AddGetPods(*get, context);

  CLI::App* node = get->add_subcommand(
      "node",
      "Show the agent's node.\n\n"
      "CPU, memory and pods: what pods request, of what is allocatable to them. -o wide has the "
      "capacity too.");
  node->alias("nodes")->alias("no");
  context.Act(node, [&context] { return GetNode(context); });

  CLI::App* events = get->add_subcommand("events", "List the agent's events, oldest first.");
  events->alias("event")->alias("ev");
  auto arguments = std::make_shared<GetArguments>();
  AddPlaceOptions(*events, *arguments);
  context.Act(events, [&context, arguments] { return GetEvents(context, *arguments); });
}

}  // namespace plimsoll::cli
