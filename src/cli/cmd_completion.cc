// plimsoll completion, and the hidden commands behind completion and the man page
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "cli/agent_commands/agent_connect.h"
#include "cli/agent_commands/agent_resize.h"
#include "cli/command/command.h"
#include "cli/command/lookup.h"
#include "cli/command_tree.h"
#include "cli/node_commands/nri_report.h"
#include "cli/program.h"
#include "cli/terminal/object_fields.h"

#ifndef PLIMSOLL_VERSION
#define PLIMSOLL_VERSION "unknown"
#endif

namespace plimsoll::cli {
namespace {

// `kind`: agent-pods, agent-containers ("web/app") or agent-container-names ("app").
absl::Status AddAgentNames(const CommandContext& context, const std::string& kind,
                           std::set<std::string>* names) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client->List(""));
  for (const auto& pod : pods) {
    const std::string name = TextOf(pod, {"metadata", "name"});
    if (kind == "agent-pods") {
      names->insert(name);
      continue;
    }
    for (const std::string& container : ResizableContainerNames(pod)) {
      names->insert(kind == "agent-containers" ? absl::StrCat(name, "/", container) : container);
    }
  }
  return absl::OkStatus();
}

absl::Status AddPlugins(pod::Client& client, std::set<std::string>* names) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, client.RuntimeStatus(/*verbose=*/true));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto nri, NriOf(status));
  for (const std::string& name : PluginNames(nri)) names->insert(name);
  return absl::OkStatus();
}

absl::Status AddClasses(pod::Client& client, std::set<std::string>* names) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto classes, client.own().ListClasses());
  for (const node::ClassType& type : classes.types()) {
    for (const node::QosClass& one : type.classes()) {
      names->insert(absl::StrCat(type.name(), "=", one.name()));
    }
  }
  return absl::OkStatus();
}

absl::Status AddImages(pod::Client& client, std::set<std::string>* names) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto images, client.ListImages());
  for (const cri::Image& image : images) {
    names->insert(image.repo_tags().begin(), image.repo_tags().end());
  }
  return absl::OkStatus();
}

// `kind`: containers, running or places ("web/app:"), or with "-names" behind it ("app").
absl::Status AddContainers(pod::Client& client, absl::string_view kind,
                           std::set<std::string>* names) {
  const bool alone = absl::ConsumeSuffix(&kind, "-names");
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client.ListContainers());
  for (const cri::Container& container : containers) {
    if (kind == "running" && container.state() != cri::CONTAINER_RUNNING) continue;
    names->insert(absl::StrCat(alone ? "" : absl::StrCat(PodNameOf(container, pods), "/"),
                               container.metadata().name(), kind == "places" ? ":" : ""));
  }
  return absl::OkStatus();
}

absl::Status AddNames(pod::Client& client, const std::string& kind, std::set<std::string>* names) {
  if (kind == "plugins") return AddPlugins(client, names);
  if (kind == "classes") return AddClasses(client, names);
  if (kind == "images") return AddImages(client, names);
  if (kind != "pods") return AddContainers(client, kind, names);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client.ListPodSandboxes());
  for (const cri::PodSandbox& pod : pods) names->insert(pod.metadata().name());
  return absl::OkStatus();
}

// Prints one name a line. Starts no daemon: Tab must not have effects.
absl::StatusOr<int> Complete(const CommandContext& context, const std::vector<std::string>& kinds) {
  std::set<std::string> names;
  std::unique_ptr<pod::Client> client;
  for (const std::string& kind : kinds) {
    if (absl::StartsWith(kind, "agent-")) {
      PLIMSOLL_RETURN_IF_ERROR(AddAgentNames(context, kind, &names));
      continue;
    }
    if (client == nullptr) {
      PLIMSOLL_ASSIGN_OR_RETURN(client, context.Connect(/*may_start=*/false));
    }
    PLIMSOLL_RETURN_IF_ERROR(AddNames(*client, kind, &names));
  }
  Print(CompletionNames(names));
  return kExitOk;
}

}  // namespace

void AddCompletionCommand(CLI::App& app, CommandContext& context) {
  CLI::App* completion = app.add_subcommand(
      "completion",
      "Print a shell's completion script.\n\n"
      "bash: source <(plimsoll completion bash); zsh: the same after compinit; fish: plimsoll "
      "completion fish | source.");
  auto shell = std::make_shared<std::string>();
  completion->add_option("shell", *shell, "The shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}))
      ->required();
  context.Act(completion, [&app, shell]() -> absl::StatusOr<int> {
    Print(CompletionScript(DescribeCommands(app), *shell));
    return kExitOk;
  });

  CLI::App* complete = app.add_subcommand("__complete", "Names for completion")->group("");
  auto kinds = std::make_shared<std::vector<std::string>>();
  complete->add_option("kind", *kinds)
      ->check(CLI::IsMember({"pods", "containers", "running", "container-names", "running-names",
                             "images", "classes", "places", "agent-pods", "agent-containers",
                             "agent-container-names", "plugins"}));
  context.Act(complete, [&context, kinds] { return Complete(context, *kinds); });

  CLI::App* man = app.add_subcommand("__man", "The man page")->group("");
  context.Act(man, [&app]() -> absl::StatusOr<int> {
    Print(ManPage(DescribeCommands(app), PLIMSOLL_VERSION));
    return kExitOk;
  });
}

}  // namespace plimsoll::cli
