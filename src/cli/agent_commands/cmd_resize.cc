// plimsoll resize
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/agent_commands/agent_commands.h"
#include "cli/agent_commands/agent_connect.h"
#include "cli/agent_commands/agent_pod_lookup.h"
#include "cli/agent_commands/agent_resize.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {
namespace {

struct ResizeArguments {
  std::string name;
  std::string pod_namespace;
  std::string container;
  WantedAmounts wanted;
  bool wait = false;
};

// The condition that says why a resize isn't done yet; null: it is.
KubeObject ConditionOf(const KubeObject& pod) {
  for (const KubeObject& condition : ItemsOf(pod, {"status", "conditions"})) {
    const std::string type = TextOf(condition, {"type"});
    if (absl::StartsWith(type, "PodResize") && TextOf(condition, {"status"}) == "True") {
      return condition;
    }
  }
  return {};
}

// "resized", or the condition.
std::string Outcome(const KubeObject& pod) {
  const KubeObject condition = ConditionOf(pod);
  if (condition.is_null()) return "resized";
  const std::string reason = TextOf(condition, {"reason"});
  const std::string message = TextOf(condition, {"message"});
  return absl::StrCat(
      TextOf(condition, {"type"}) == "PodResizePending" ? "resize pending" : "resize in progress",
      reason.empty() ? "" : absl::StrCat(" (", reason, ")"),
      message.empty() ? "" : absl::StrCat(": ", message));
}

// The agent has given up, for now or for good, or has done what it can without saying "done".
bool IsSettled(const KubeObject& pod) {
  const KubeObject condition = ConditionOf(pod);
  if (condition.is_null()) return true;
  const std::string reason = TextOf(condition, {"reason"});
  return reason == "Infeasible" || reason == "Error" ||
         absl::StartsWith(TextOf(condition, {"message"}), "unverified");
}

bool HasFailed(const KubeObject& pod) {
  const std::string reason = TextOf(ConditionOf(pod), {"reason"});
  return reason == "Infeasible" || reason == "Error";
}

// Says why the resize isn't done, where the agent gives a reason other than the one `told` before.
void NoteHindrance(const std::string& name, const KubeObject& pod, std::string* told) {
  const KubeObject condition = ConditionOf(pod);
  if (TextOf(condition, {"reason"}).empty() && TextOf(condition, {"message"}).empty()) return;
  std::string hindrance = Outcome(pod);
  if (hindrance == *told) return;
  PrintNote(absl::StrCat("note: pod/", Printable(name), " ", Printable(hindrance), "\n"));
  *told = std::move(hindrance);
}

absl::StatusOr<KubeObject> AwaitSettled(const agent::AgentClient& client,
                                        const ResizeArguments& arguments, KubeObject pod) {
  std::string told;
  while (!IsSettled(pod)) {
    NoteHindrance(arguments.name, pod, &told);
    PLIMSOLL_RETURN_IF_ERROR(client.Rest(kLookInterval));
    PLIMSOLL_ASSIGN_OR_RETURN(pod, client.Get(arguments.pod_namespace, arguments.name));
  }
  return pod;
}

absl::StatusOr<KubeObject> Send(const agent::AgentClient& client,
                                const ResizeArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const KubeObject pod,
                            GetAgentPod(client, arguments.pod_namespace, arguments.name));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string container,
                            ContainerToResize(pod, arguments.container));
  PLIMSOLL_ASSIGN_OR_RETURN(const KubeObject patch, ResizePatch(pod, container, arguments.wanted));
  PLIMSOLL_ASSIGN_OR_RETURN(KubeObject resized,
                            client.Resize(arguments.pod_namespace, arguments.name, patch));
  if (!arguments.wait) return resized;
  return AwaitSettled(client, arguments, std::move(resized));
}

// Whether the agent refused amounts that are request and limit alike, as of a Burstable pod that
// would become Guaranteed by them.
bool IsRefusedForQosClass(const absl::Status& status, const WantedAmounts& wanted) {
  return absl::IsInvalidArgument(status) && !(wanted.cpu.empty() && wanted.memory.empty()) &&
         absl::StrContains(status.message(), "QOS Class may not change");
}

// Splits a name that is POD/CONTAINER.
absl::Status TakeContainerOfName(ResizeArguments* arguments) {
  const std::vector<std::string> parts = absl::StrSplit(arguments->name, '/');
  if (parts.size() > 2 || parts.front().empty() || parts.back().empty()) {
    return UsageError(
        WithHint(absl::InvalidArgumentError(absl::StrCat(
                     "\"", arguments->name, "\" is neither a pod's name nor POD/CONTAINER")),
                 "--namespace names the pod's namespace."));
  }
  if (parts.size() == 1) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(CheckOneContainer(arguments->name, parts.back(), arguments->container));
  arguments->name = parts.front();
  arguments->container = parts.back();
  return absl::OkStatus();
}

absl::StatusOr<int> Resize(const CommandContext& context, ResizeArguments arguments) {
  PLIMSOLL_RETURN_IF_ERROR(TakeContainerOfName(&arguments));
  if (arguments.wanted.empty()) {
    return UsageError(absl::InvalidArgumentError(
        "plimsoll resize: to what? --cpu and --memory, or those for requests and limits alone"));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  const absl::StatusOr<KubeObject> pod = Send(*client, arguments);
  if (!pod.ok()) {
    if (IsRefusedForQosClass(pod.status(), arguments.wanted)) {
      return WithHint(pod.status(),
                      "--cpu and --memory set request and limit to the same amount; --cpu-limit "
                      "and --memory-limit leave the request as it is.");
    }
    return WithAgentHint(pod.status(), "`plimsoll update CONTAINER` changes one of the runtime.");
  }
  const int code = arguments.wait && HasFailed(*pod) ? kExitError : kExitOk;
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintJson(
        pod->dump(1, ' ', false, KubeObject::error_handler_t::replace), context.format()));
    return code;
  }
  Print(absl::StrCat("pod/", Printable(arguments.name), " ", Printable(Outcome(*pod)), "\n"));
  return code;
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
      "later; `plimsoll describe pod` says so in its conditions. Returns once the agent has taken "
      "it; --wait: once it is in force, or has failed (exit code 1). Meanwhile standard error has "
      "the reason for the delay.");
  pod->alias("pods")->alias("po");
  auto arguments = std::make_shared<ResizeArguments>();
  pod->add_option("name", arguments->name,
                  "The pod, or POD/CONTAINER; the container may be left out if alone")
      ->type_name("POD-NAME[/CONTAINER]")
      ->required();
  AddNamespaceOption(*pod, &arguments->pod_namespace);
  AddContainerOption(*pod, &arguments->container);
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
  pod->add_flag("--wait", arguments->wait, "Return when it is in force, or has failed");
  context.Act(pod, [&context, arguments] { return Resize(context, *arguments); });
}

}  // namespace plimsoll::cli
