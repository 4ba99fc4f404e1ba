// plimsoll describe
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cli/agent_commands/agent_commands.h"
#include "cli/agent_commands/agent_connect.h"
#include "cli/agent_commands/agent_describe.h"
#include "cli/agent_commands/agent_pod_lookup.h"
#include "cli/command/command.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {
namespace {

struct DescribeArguments {
  std::string name;
  std::string pod_namespace;
};

absl::Status PrintWithEvents(const CommandContext& context, const char* kind,
                             const KubeObject& object, const std::vector<KubeObject>& events) {
  const KubeObject both = {{kind, object}, {"events", events}};
  return PrintJson(both.dump(1, ' ', false, KubeObject::error_handler_t::replace),
                   context.format());
}

absl::StatusOr<int> DescribeOnePod(const CommandContext& context,
                                   const DescribeArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::StatusOr<KubeObject> pod =
      GetAgentPod(*client, arguments.pod_namespace, arguments.name);
  if (!pod.ok()) {
    return WithAgentHint(pod.status(), "`plimsoll inspect NAME` shows a pod of the runtime.");
  }
  const absl::StatusOr<std::vector<KubeObject>> events =
      client->Events(arguments.pod_namespace, arguments.name);
  if (!events.ok()) return WithAgentHint(events.status());
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintWithEvents(context, "pod", *pod, *events));
  } else {
    Print(DescribeAgentPod(*pod, *events, absl::Now()));
  }
  return kExitOk;
}

// NOT_FOUND: the agent has one node, and this is another.
absl::Status CheckNodeName(const KubeObject& node, const std::string& asked) {
  const std::string name = TextOf(node, {"metadata", "name"});
  if (asked.empty() || asked == name) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("no node ", asked, ": the agent's is ", name));
}

absl::StatusOr<int> DescribeTheNode(const CommandContext& context,
                                    const DescribeArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::StatusOr<KubeObject> node = client->Node();
  if (!node.ok()) return WithAgentHint(node.status());
  PLIMSOLL_RETURN_IF_ERROR(CheckNodeName(*node, arguments.name));
  const absl::StatusOr<std::vector<KubeObject>> pods = client->List("");
  if (!pods.ok()) return WithAgentHint(pods.status());
  absl::StatusOr<std::vector<KubeObject>> events = client->Events("", "");
  if (!events.ok()) return WithAgentHint(events.status());
  std::erase_if(*events, [](const KubeObject& event) {
    return TextOf(event, {"involvedObject", "kind"}) != "Node";
  });
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintWithEvents(context, "node", *node, *events));
  } else {
    Print(DescribeAgentNode(*node, *pods, *events, absl::Now()));
  }
  return kExitOk;
}

}  // namespace

void AddDescribeCommand(CLI::App& app, CommandContext& context) {
  CLI::App* describe =
      app.add_subcommand("describe", "Show everything about a pod of the agent's, or its node.");
  describe->require_subcommand(1);

  CLI::App* pod = describe->add_subcommand("pod", "Show everything about a pod, with its events.");
  pod->alias("pods")->alias("po");
  auto of_pod = std::make_shared<DescribeArguments>();
  pod->add_option("name", of_pod->name, "The pod")->type_name("POD-NAME")->required();
  AddNamespaceOption(*pod, &of_pod->pod_namespace);
  context.Act(pod, [&context, of_pod] { return DescribeOnePod(context, *of_pod); });

  CLI::App* node = describe->add_subcommand(
      "node", "Show everything about the node: resources, conditions, pods, events.");
  node->alias("nodes")->alias("no");
  auto of_node = std::make_shared<DescribeArguments>();
  node->add_option("name", of_node->name, "The node, which may be left out")->type_name("NODE");
  context.Act(node, [&context, of_node] { return DescribeTheNode(context, *of_node); });
}

}  // namespace plimsoll::cli
