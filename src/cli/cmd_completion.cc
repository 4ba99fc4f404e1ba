// plimsoll completion, and the hidden commands behind completion and the man page
#include <set>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cli/agent_connect.h"
#include "cli/command.h"
#include "cli/command_tree.h"
#include "cli/lookup.h"
#include "cli/nri_report.h"
#include "cli/object_fields.h"

#ifndef PLIMSOLL_VERSION
#define PLIMSOLL_VERSION "unknown"
#endif

namespace plimsoll::cli {
namespace {

absl::Status AddAgentPods(const CommandContext& context, std::set<std::string>* names) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, AgentOf(context));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client->List(""));
  for (const auto& pod : pods) names->insert(TextOf(pod, {"metadata", "name"}));
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

// Prints one name a line. Starts no daemon: Tab must not have effects.
absl::StatusOr<int> Complete(const CommandContext& context, const std::vector<std::string>& kinds) {
  std::set<std::string> names;
  if (kinds == std::vector<std::string>{"agent-pods"}) {
    PLIMSOLL_RETURN_IF_ERROR(AddAgentPods(context, &names));
    Print(CompletionNames(names));
    return kExitOk;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect(/*may_start=*/false));
  for (const std::string& kind : kinds) {
    if (kind == "plugins") {
      PLIMSOLL_RETURN_IF_ERROR(AddPlugins(*client, &names));
      continue;
    }
    if (kind == "classes") {
      PLIMSOLL_RETURN_IF_ERROR(AddClasses(*client, &names));
      continue;
    }
    if (kind == "images") {
      PLIMSOLL_ASSIGN_OR_RETURN(const auto images, client->ListImages());
      for (const cri::Image& image : images) {
        names.insert(image.repo_tags().begin(), image.repo_tags().end());
      }
      continue;
    }
    PLIMSOLL_ASSIGN_OR_RETURN(const auto pods, client->ListPodSandboxes());
    if (kind == "pods") {
      for (const cri::PodSandbox& pod : pods) names.insert(pod.metadata().name());
    } else {
      PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, client->ListContainers());
      for (const cri::Container& container : containers) {
        if (kind == "running" && container.state() != cri::CONTAINER_RUNNING) continue;
        names.insert(absl::StrCat(PodNameOf(container, pods), "/", container.metadata().name(),
                                  kind == "places" ? ":" : ""));
      }
    }
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
      ->check(CLI::IsMember({"pods", "containers", "running", "images", "classes", "places",
                             "agent-pods", "plugins"}));
  context.Act(complete, [&context, kinds] { return Complete(context, *kinds); });

  CLI::App* man = app.add_subcommand("__man", "The man page")->group("");
  context.Act(man, [&app]() -> absl::StatusOr<int> {
    Print(ManPage(DescribeCommands(app), PLIMSOLL_VERSION));
    return kExitOk;
  });
}

}  // namespace plimsoll::cli
