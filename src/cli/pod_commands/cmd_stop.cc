// plimsoll stop, plimsoll rm
#include <map>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "cli/agent_commands/agents_pods.h"
#include "cli/command/command.h"
#include "cli/command/each_name.h"
#include "cli/command/lookup.h"
#include "cli/command/seconds.h"
#include "cli/pod_commands/pod_commands.h"
#include "cli/pod_commands/remove_pod.h"
#include "cli/terminal/interrupts.h"
#include "cli/terminal/text.h"
#include "pod_runner/lifecycle.h"
#include "pod_runner/pod_files/dir.h"

namespace plimsoll::cli {
namespace {

// The targets of a command: names, or --all.
struct Targets {
  std::vector<std::string> names;
  bool all = false;
};

absl::Status CheckTargets(const Targets& targets, const char* command) {
  if (targets.all == targets.names.empty()) return absl::OkStatus();
  return UsageError(targets.all
                        ? absl::InvalidArgumentError("--all can't be given with names")
                        : WithHint(absl::InvalidArgumentError(absl::StrCat(
                                       "plimsoll ", command, ": which pod or container?")),
                                   absl::StrCat("`plimsoll ps --all` lists pods and containers; "
                                                "--all means every pod. See `plimsoll ",
                                                command, " --help`.")));
}

absl::Status OnPodOrContainer(
    const pod::Inventory& inventory, const std::string& name,
    const std::function<absl::Status(const cri::PodSandbox&)>& on_pod,
    const std::function<absl::Status(const cri::Container&)>& on_container) {
  PLIMSOLL_ASSIGN_OR_RETURN(const PodOrContainer found,
                            FindPodOrContainer(inventory.pods, inventory.containers, name));
  if (const auto* pod = std::get_if<cri::PodSandbox>(&found)) return on_pod(*pod);
  return on_container(std::get<cri::Container>(found));
}

// The daemon stops the containers of an interrupted pod. The pod itself is stopped after them, by
// no one now.
void NoteInterrupted(const pod::Inventory& inventory, const std::vector<std::string>& names,
                     const std::vector<absl::Status>& results) {
  PrintNote(
      "plimsoll: interrupted; the daemon finishes the stops that it has begun, as `plimsoll ps` "
      "shows\n");
  std::string pods;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!results[i].ok() && FindPod(inventory.pods, names[i]).ok()) {
      absl::StrAppend(&pods, " ", ShellQuote(names[i]));
    }
  }
  if (pods.empty()) return;
  PrintNote(
      absl::StrCat("  The daemon stops only the containers of a pod. To stop the pod too: "
                   "plimsoll stop",
                   pods, "\n"));
}

// `run --detach` has ended: nothing else sees the end of its containers before the pod's removal,
// which does the same.
void ReleaseSubPaths(pod::Client& client, const cri::PodSandbox& pod) {
  const auto daemon = client.own().DaemonStatus();
  const absl::StatusOr<FsRoot> root = FsRoot::Open("/");
  if (!daemon.ok() || !root.ok()) return;
  pod::ReleaseSubPaths(*root, daemon->state_directory(), pod.metadata().uid()).IgnoreError();
}

absl::StatusOr<int> Stop(const CommandContext& context, const Targets& targets, int64_t grace_s) {
  PLIMSOLL_RETURN_IF_ERROR(CheckTargets(targets, "stop"));
  PLIMSOLL_ASSIGN_OR_RETURN(const AgentsPods agents_pods, AgentsPods::Of(context));
  Interrupts interrupts;  // before gRPC starts its threads
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  const absl::Cleanup deaf = [&interrupts] { interrupts.OnInterrupt(nullptr); };
  interrupts.OnInterrupt([&client](int) { client->Abandon(); });
  if (interrupts.count() > 0) return kExitInterrupted;
  absl::StatusOr<pod::Inventory> taken = pod::TakeInventory(*client);
  if (!taken.ok() && client->abandoned()) {
    PrintNote("plimsoll: interrupted; nothing was asked to stop\n");
    return kExitInterrupted;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(pod::Inventory inventory, std::move(taken));
  std::vector<std::string> names = targets.names;
  if (targets.all) {
    std::erase_if(inventory.pods,
                  [](const cri::PodSandbox& pod) { return pod.state() != cri::SANDBOX_READY; });
    agents_pods.LeaveOut(inventory.pods);
    names = NamesOf(inventory.pods);
  }
  // In parallel: each may take its whole grace period.
  std::vector<absl::Status> results(names.size());
  EachAtOnce(names.size(), pod::kStopsAtOnce, [&](size_t i) {
    results[i] = OnPodOrContainer(
        inventory, names[i],
        [&](const cri::PodSandbox& pod) {
          PLIMSOLL_RETURN_IF_ERROR(agents_pods.CheckFree(pod));
          PLIMSOLL_RETURN_IF_ERROR(pod::StopPod(*client, inventory, pod, grace_s));
          ReleaseSubPaths(*client, pod);
          return absl::OkStatus();
        },
        [&](const cri::Container& container) {
          return client->StopContainer(container.id(),
                                       grace_s >= 0 ? grace_s : pod::kDefaultGraceSeconds);
        });
  });
  if (client->abandoned()) {
    NoteInterrupted(inventory, names, results);
    return kExitInterrupted;
  }
  std::map<std::string, absl::Status> by_name;
  for (size_t i = 0; i < names.size(); ++i) by_name[names[i]] = results[i];
  return ForEachName(context, names, [&](const std::string& name) { return by_name[name]; });
}

absl::Status RemoveContainer(pod::Client& client, const cri::Container& container, bool force) {
  if (!force && container.state() == cri::CONTAINER_RUNNING) {
    const std::string name = ShellQuote(container.metadata().name());
    return WithHint(
        absl::FailedPreconditionError(
            absl::StrCat("container ", container.metadata().name(), " is running")),
        absl::StrCat("plimsoll stop ", name, "  first, or  plimsoll rm --force ", name));
  }
  return client.RemoveContainer(container.id());
}

absl::StatusOr<int> Rm(const CommandContext& context, const Targets& targets, bool force) {
  PLIMSOLL_RETURN_IF_ERROR(CheckTargets(targets, "rm"));
  PLIMSOLL_ASSIGN_OR_RETURN(const AgentsPods agents_pods, AgentsPods::Of(context));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(pod::Inventory inventory, pod::TakeInventory(*client));
  if (targets.all) agents_pods.LeaveOut(inventory.pods);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto daemon, client->own().DaemonStatus());
  const std::vector<std::string> names = targets.all ? NamesOf(inventory.pods) : targets.names;
  return ForEachName(context, names, [&](const std::string& name) {
    return OnPodOrContainer(
        inventory, name,
        [&](const cri::PodSandbox& pod) {
          PLIMSOLL_RETURN_IF_ERROR(agents_pods.CheckFree(pod));
          return RemovePod(*client, inventory, pod, force, daemon.state_directory());
        },
        [&](const cri::Container& container) {
          return RemoveContainer(*client, container, force);
        });
  });
}

}  // namespace

void AddStopCommand(CLI::App& app, CommandContext& context) {
  CLI::App* stop = app.add_subcommand(
      "stop",
      "Stop pods or containers, gently, then by force.\n\n"
      "An agent's pods are refused: `plimsoll delete` ends them. A container of such a pod that is "
      "stopped alone starts again as the pod's restartPolicy says.");
  auto targets = std::make_shared<Targets>();
  auto grace = std::make_shared<int64_t>(-1);
  stop->add_option("name", targets->names, "Names or ids of pods or containers")
      ->type_name("POD|CONTAINER");
  stop->add_flag("-a,--all", targets->all, "All pods that are not stopped");
  stop->add_option("-t,--time", *grace,
                   "Time from the stop signal to the kill, as in 5 (seconds) or 1m30s; default: "
                   "the pod's terminationGracePeriodSeconds")
      ->type_name("TIME")
      ->transform(Seconds());
  context.Act(stop, [&context, targets, grace] { return Stop(context, *targets, *grace); });
}

void AddRmCommand(CLI::App& app, CommandContext& context) {
  CLI::App* rm = app.add_subcommand(
      "rm",
      "Remove stopped pods or containers, with their logs and emptyDir volumes.\n\n"
      "`plimsoll prune` removes ended pods and unused images. An agent's pods are refused: "
      "`plimsoll delete` removes them.");
  auto targets = std::make_shared<Targets>();
  auto force = std::make_shared<bool>(false);
  rm->add_option("name", targets->names, "Names or ids of pods or containers")
      ->type_name("POD|CONTAINER");
  rm->add_flag("-a,--all", targets->all,
               "All pods, other clients' too; running ones are refused without --force");
  rm->add_flag("-f,--force", *force, "Kill running containers");
  context.Act(rm, [&context, targets, force] { return Rm(context, *targets, *force); });
}

}  // namespace plimsoll::cli
