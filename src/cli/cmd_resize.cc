// plimsoll resize
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/status.h"
#include "cli/agent_connect.h"
#include "cli/agent_resize.h"
#include "cli/command.h"
#include "cli/object_fields.h"

namespace plimsoll::cli {
namespace {

struct ResizeArguments {
  std::string name;
  std::string pod_namespace;
  std::string container;
  WantedAmounts wanted;
};

// "resized", or the condition that says why not yet.
std::string Outcome(const KubeObject& pod) {
  for (const KubeObject& condition : ItemsOf(pod, {"status", "conditions"})) {
    const std::string type = TextOf(condition, {"type"});
    if (!absl::StartsWith(type, "PodResize") || TextOf(condition, {"status"}) != "True") continue;
    const std::string reason = TextOf(condition, {"reason"});
    const std::string message = TextOf(condition, {"message"});
    return absl::StrCat(type == "PodResizePending" ? "resize pending" : "resize in progress",
                        reason.empty() ? "" : absl::StrCat(" (", reason, ")"),
                        message.empty() ? "" : absl::StrCat(": ", message));
  }
  return "resized";
}

absl::StatusOr<KubeObject> Send(const agent::Client& client, const ResizeArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const KubeObject pod,
                            client.Get(arguments.pod_namespace, arguments.name));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string container,
                            ContainerToResize(pod, arguments.container));
  PLIMSOLL_ASSIGN_OR_RETURN(const KubeObject patch, ResizePatch(pod, container, arguments.wanted));
  return client.Resize(arguments.pod_namespace, arguments.name, patch);
}

absl::StatusOr<int> Resize(const CommandContext& context, const ResizeArguments& arguments) {
  if (arguments.wanted.empty()) {
    return UsageError(absl::InvalidArgumentError(
        "plimsoll resize: to what? --cpu and --memory, or those for requests and limits alone"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::StatusOr<KubeObject> pod = Send(*client, arguments);
  if (!pod.ok()) {
    return WithAgentHint(pod.status(), "`plimsoll update CONTAINER` changes one of the runtime.");
  }
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintJson(
        pod->dump(1, ' ', false, KubeObject::error_handler_t::replace), context.format()));
    return kExitOk;
  }
  Print(absl::StrCat("pod/", Printable(arguments.name), " ", Printable(Outcome(*pod)), "\n"));
  return kExitOk;
}

}  // namespace

void AddResizeCommand(CLI::App& app, CommandContext& context) {
  CLI::App* resize =
      app.add_subcommand("resize", "Change the resources of a pod of the agent while it runs.");
  resize->require_subcommand(1);
  CLI::App* pod = resize->add_subcommand(
      "pod",
      "Change requests and limits of a container in place.\n\n"
      "What is not named stays. Where the node hasn't room at the moment, the agent tries again "
      "later; `plimsoll describe pod` says so in its conditions.");
  pod->alias("pods")->alias("po");
  auto arguments = std::make_shared<ResizeArguments>();
  pod->add_option("name", arguments->name, "The pod")->type_name("POD-NAME")->required();
  AddNamespaceOption(*pod, &arguments->pod_namespace);
  pod->add_option("-c,--container", arguments->container, "The container; may be left out if alone")
      ->type_name("CONTAINER-NAME");
  WantedAmounts& wanted = arguments->wanted;
  pod->add_option("--cpu", wanted.cpu,
                  "CPU request and limit like 500m: those of the two that the container has")
      ->type_name("AMOUNT");
  pod->add_option("--cpu-request", wanted.cpu_request, "CPU request")->type_name("AMOUNT");
  pod->add_option("--cpu-limit", wanted.cpu_limit, "CPU limit")->type_name("AMOUNT");
  pod->add_option("--memory", wanted.memory, "Memory request and limit like 256Mi, likewise")
      ->type_name("AMOUNT");
  pod->add_option("--memory-request", wanted.memory_request, "Memory request")->type_name("AMOUNT");
  pod->add_option("--memory-limit", wanted.memory_limit, "Memory limit")->type_name("AMOUNT");
  context.Act(pod, [&context, arguments] { return Resize(context, *arguments); });
}

}  // namespace plimsoll::cli
