// plimsoll classes, plimsoll assign
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/command/as_before.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/node_commands/node_commands.h"
#include "cli/terminal/table.h"

namespace plimsoll::cli {
namespace {

std::string Places(const node::QosClass& one) {
  const std::string held = absl::StrCat(one.holders_size());
  return one.capacity() == 0 ? held : absl::StrCat(held, " of ", one.capacity());
}

// Limitations of the machine that concern classes. A warning that begins with its type's name
// ("oom class last: ...") isn't given it again.
void PrintWarnings(const node::ListClassesResponse& response) {
  std::string lines;
  for (const node::ClassType& type : response.types()) {
    for (const std::string& warning : type.warnings()) {
      const bool is_named = absl::StartsWith(warning, absl::StrCat(type.name(), " class"));
      absl::StrAppend(&lines, "  ", is_named ? "" : absl::StrCat(type.name(), ": "),
                      Printable(warning), "\n");
    }
  }
  if (!lines.empty()) Print(absl::StrCat("\nTo know:\n", lines));
}

void PrintTypes(const node::ListClassesResponse& response) {
  if (response.types().empty()) {
    Print(
        "There are no class types: none is configured (section `classes` of plimsolld.yaml), or "
        "the feature gate ClassResources is off.\n");
    return;
  }
  Table table({"TYPE", "LEVEL", "CLASS", "HELD", "MEANING", "HOLDERS"});
  for (const node::ClassType& type : response.types()) {
    const std::string name = absl::StrCat(type.name(), type.immutable() ? " (immutable)" : "");
    for (const node::QosClass& one : type.classes()) {
      const bool is_default = one.name() == type.default_class();
      table.AddRow({name, type.level(), absl::StrCat(one.name(), is_default ? " (default)" : ""),
                    Places(one), one.meaning(), absl::StrJoin(one.holders(), ", ")});
    }
    if (type.classes().empty()) table.AddRow({name, type.level(), "-", "0"});
  }
  Print(table.ToString());
  PrintWarnings(response);
}

absl::StatusOr<int> ListClasses(const CommandContext& context) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const node::ListClassesResponse response, client->own().ListClasses());
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(response, context.format()));
  } else {
    PrintTypes(response);
  }
  return kExitOk;
}

absl::StatusOr<int> ReloadClasses(const CommandContext& context) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect(/*may_start=*/false));
  PLIMSOLL_ASSIGN_OR_RETURN(const node::ReloadClassesResponse response,
                            client->own().ReloadClasses());
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(response, context.format()));
    return kExitOk;
  }
  for (const std::string& change : response.changes()) Print(absl::StrCat(change, "\n"));
  if (response.changes().empty()) Print("Nothing has changed.\n");
  PLIMSOLL_ASSIGN_OR_RETURN(const node::ListClassesResponse now, client->own().ListClasses());
  PrintWarnings(now);
  return kExitOk;
}

struct AssignArguments {
  std::string name;
  std::vector<std::string> classes;  // "rdt=gold"
  bool pod = false;
};

// Parses "rdt=gold", and "rdt=" for the type's default class.
absl::StatusOr<std::map<std::string, std::string>> ReadClasses(
    const std::vector<std::string>& words) {
  std::map<std::string, std::string> classes;
  for (const std::string& word : words) {
    const std::vector<std::string> halves = absl::StrSplit(word, absl::MaxSplits('=', 1));
    if (halves.size() != 2 || halves[0].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", word, "\" is not TYPE=CLASS, as in rdt=gold"));
    }
    if (!classes.insert({halves[0], halves[1]}).second) {
      return absl::InvalidArgumentError(absl::StrCat("class type ", halves[0], " is named twice"));
    }
  }
  return classes;
}

// The node's class types of one level, with their default classes.
std::map<std::string, std::string> TypesOf(const cri::ResourcesInfo& info, bool pod) {
  std::map<std::string, std::string> types;
  for (const auto& type : pod ? info.pod_class_resources() : info.container_class_resources()) {
    types[type.name()] = type.default_class();
  }
  return types;
}

// With the feature gate off, or a runtime without classes, the daemon ignores them and refuses
// nothing.
absl::Status CheckAreRead(pod::Client& client) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client.RuntimeStatus(/*verbose=*/false));
  const cri::ResourcesInfo& info = status.status().resources();
  if (info.pod_class_resources_size() + info.container_class_resources_size() > 0) {
    return absl::OkStatus();
  }
  return WithHint(
      absl::FailedPreconditionError("nothing is assigned: this node has no class types"),
      "None is configured (section `classes` of plimsolld.yaml), or the feature gate "
      "ClassResources is off.");
}

// Checks that the classes in force are the requested ones.
template <typename Map>
absl::Status CheckTaken(pod::Client& client, const std::map<std::string, std::string>& asked,
                        const Map& now, bool pod) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client.RuntimeStatus(/*verbose=*/false));
  const auto types = TypesOf(status.status().resources(), pod);
  for (const auto& [type, name] : asked) {
    const auto known = types.find(type);
    const std::string wanted = !name.empty() || known == types.end() ? name : known->second;
    const auto holds = now.find(type);
    const std::string held = holds == now.end() ? "" : holds->second;
    if (held == wanted) continue;
    return absl::InternalError(absl::StrCat(
        "the daemon took ", type, "=", wanted, " without an error, but shows ",
        held.empty() ? std::string("no class of that type") : absl::StrCat(type, "=", held)));
  }
  return absl::OkStatus();
}

// One row a type, by name: a message's map has no order.
template <typename Map>
void PrintChange(const Map& before, const Map& after) {
  Table table({"TYPE", "BEFORE", "NOW"});
  for (const auto& [type, name] : std::map<std::string, std::string>(after.begin(), after.end())) {
    const auto was = before.find(type);
    table.AddRow({type, was == before.end() ? "-" : was->second, name});
  }
  Print(table.ToString());
}

absl::StatusOr<int> AssignToPod(const CommandContext& context, pod::Client& client,
                                const std::string& name,
                                const std::map<std::string, std::string>& classes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pod, FindPod(pods, name));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto before, client.PodSandboxStatus(pod.id()));
  cri::UpdatePodSandboxConfigRequest request;
  request.set_pod_sandbox_id(pod.id());
  request.mutable_class_resources()->mutable_class_()->insert(classes.begin(), classes.end());
  PLIMSOLL_RETURN_IF_ERROR(
      AsBefore(client.updates().PodClasses(request), {"pod", pod.id(), pod.metadata().name()}));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto after, client.PodSandboxStatus(pod.id()));
  PLIMSOLL_RETURN_IF_ERROR(
      CheckTaken(client, classes, after.status().class_resources().class_(), /*pod=*/true));
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(after, context.format()));
    return kExitOk;
  }
  PrintChange(before.status().class_resources().class_(),
              after.status().class_resources().class_());
  return kExitOk;
}

absl::StatusOr<int> Assign(const CommandContext& context, const AssignArguments& arguments) {
  const auto classes = ReadClasses(arguments.classes);
  if (!classes.ok()) return UsageError(classes.status());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_RETURN_IF_ERROR(CheckAreRead(*client));
  if (arguments.pod) return AssignToPod(context, *client, arguments.name, *classes);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client->ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client->ListContainers());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, FindContainer(containers, pods, arguments.name));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto before, client->ContainerStatus(container.id()));
  cri::UpdateContainerResourcesRequest request;
  request.set_container_id(container.id());
  request.mutable_class_resources()->mutable_classes()->insert(classes->begin(), classes->end());
  PLIMSOLL_RETURN_IF_ERROR(
      AsBefore(client->updates().Container(request),
               {"container", container.id(),
                absl::StrCat(PodNameOf(container, pods), "/", container.metadata().name())}));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto after, client->ContainerStatus(container.id()));
  PLIMSOLL_RETURN_IF_ERROR(
      CheckTaken(*client, *classes, after.status().class_resources().classes(), /*pod=*/false));
  if (context.for_programs()) {
    PLIMSOLL_RETURN_IF_ERROR(PrintMessage(after, context.format()));
    return kExitOk;
  }
  PrintChange(before.status().class_resources().classes(),
              after.status().class_resources().classes());
  return kExitOk;
}

}  // namespace

void AddClassesCommand(CLI::App& app, CommandContext& context) {
  CLI::App* classes = app.add_subcommand(
      "classes",
      "Show the QoS classes of this node: types, classes, the effect of each here, its "
      "holders.\n\n"
      "The section `classes` of plimsolld.yaml configures the types.");
  context.Act(classes, [&context] { return ListClasses(context); });
  CLI::App* reload = classes->add_subcommand("reload",
                                             "Have the daemon read the class files again.\n\n"
                                             "All or nothing: a file with an error, or without a "
                                             "class that a pod or container holds, changes "
                                             "nothing.");
  context.Act(reload, [&context] { return ReloadClasses(context); });
  AddExplainCommands(*classes, context);
}

void AddAssignCommand(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<AssignArguments>();
  CLI::App* assign = app.add_subcommand(
      "assign",
      "Move a running container or a pod to other QoS classes.\n\n"
      "All or nothing; types that are not named stay. Prints the classes before and after.");
  assign
      ->add_option("name", arguments->name,
                   "Name or id of a container, POD/CONTAINER, or a pod that has only one")
      ->type_name("CONTAINER|POD")
      ->required();
  assign
      ->add_option("classes", arguments->classes,
                   "Class by type, as in rdt=gold; without a class the type's default")
      ->type_name("TYPE=CLASS")
      ->required();
  assign->add_flag("--pod", arguments->pod, "The name is a pod's: assign classes for pods");
  context.Act(assign, [&context, arguments] { return Assign(context, *arguments); });
}

}  // namespace plimsoll::cli
