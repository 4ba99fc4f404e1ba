// plimsoll stop, plimsoll rm
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "cli/command.h"
#include "cli/each_name.h"
#include "cli/lookup.h"
#include "cli/pod_dir.h"
#include "cli/text.h"

namespace plimsoll::cli {
namespace {

constexpr int64_t kDefaultGraceSeconds = 30;

struct Inventory {
  std::vector<cri::PodSandbox> pods;
  std::vector<cri::Container> containers;
};

absl::StatusOr<Inventory> TakeInventory(Client& client) {
  Inventory inventory;
  PLIMSOLL_ASSIGN_OR_RETURN(inventory.pods, client.ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(inventory.containers, client.ListContainers());
  return inventory;
}

int64_t GraceOf(const cri::PodSandbox& pod) {
  int64_t seconds = kDefaultGraceSeconds;
  const auto it = pod.annotations().find(kGraceAnnotation);
  if (it != pod.annotations().end() && absl::SimpleAtoi(it->second, &seconds) && seconds >= 0) {
    return seconds;
  }
  return kDefaultGraceSeconds;
}

absl::Status StopPod(Client& client, const Inventory& inventory, const cri::PodSandbox& pod,
                     int64_t grace_s) {
  const int64_t grace = grace_s >= 0 ? grace_s : GraceOf(pod);
  std::vector<const cri::Container*> running;
  for (const cri::Container& container : inventory.containers) {
    if (container.pod_sandbox_id() == pod.id() && container.state() == cri::CONTAINER_RUNNING) {
      running.push_back(&container);
    }
  }
  std::vector<absl::Status> results(running.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < running.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = client.StopContainer(running[i]->id(), grace); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& result : results) PLIMSOLL_RETURN_IF_ERROR(result);
  return client.StopPodSandbox(pod.id());
}

absl::Status OnPodOrContainer(
    const Inventory& inventory, const std::string& name,
    const std::function<absl::Status(const cri::PodSandbox&)>& on_pod,
    const std::function<absl::Status(const cri::Container&)>& on_container) {
  PLIMSOLL_ASSIGN_OR_RETURN(const PodOrContainer found,
                            FindPodOrContainer(inventory.pods, inventory.containers, name));
  if (const auto* pod = std::get_if<cri::PodSandbox>(&found)) return on_pod(*pod);
  return on_container(std::get<cri::Container>(found));
}

absl::StatusOr<int> Stop(const CommandContext& context, const std::vector<std::string>& names,
                         int64_t grace_s) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const Inventory inventory, TakeInventory(*client));
  return ForEachName(context, names, [&](const std::string& name) {
    return OnPodOrContainer(
        inventory, name,
        [&](const cri::PodSandbox& pod) { return StopPod(*client, inventory, pod, grace_s); },
        [&](const cri::Container& container) {
          return client->StopContainer(container.id(),
                                       grace_s >= 0 ? grace_s : kDefaultGraceSeconds);
        });
  });
}

absl::Status RemovePod(Client& client, const Inventory& inventory, const cri::PodSandbox& pod,
                       bool force, const std::string& state_directory) {
  if (!force && pod.state() == cri::SANDBOX_READY) {
    for (const cri::Container& container : inventory.containers) {
      if (container.pod_sandbox_id() != pod.id() || container.state() != cri::CONTAINER_RUNNING) {
        continue;
      }
      const std::string name = ShellQuote(pod.metadata().name());
      return WithHint(
          absl::FailedPreconditionError(absl::StrCat("pod ", pod.metadata().name(), " is running")),
          absl::StrCat("plimsoll stop ", name, "  first, or  plimsoll rm --force ", name));
    }
  }
  PLIMSOLL_RETURN_IF_ERROR(client.StopPodSandbox(pod.id()));
  PLIMSOLL_RETURN_IF_ERROR(client.RemovePodSandbox(pod.id()));
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  // Other clients' pods have no such directory, and uids of any form.
  const absl::Status removed = RemovePodDir(root, state_directory, pod.metadata().uid());
  if (removed.ok() || absl::IsInvalidArgument(removed)) return absl::OkStatus();
  // By its name it can't be asked for again.
  const std::string directory = absl::StrCat(state_directory, "/cli/", pod.metadata().uid());
  return WithHint(
      Annotate(removed, absl::StrCat("pod ", pod.metadata().name(),
                                     " is removed, but its logs and "
                                     "volumes in ",
                                     directory, " are not")),
      absl::StrCat("The next `plimsoll run` tries again. By hand: rm -r ", ShellQuote(directory)));
}

absl::Status RemoveContainer(Client& client, const cri::Container& container, bool force) {
  if (!force && container.state() == cri::CONTAINER_RUNNING) {
    const std::string name = ShellQuote(container.metadata().name());
    return WithHint(
        absl::FailedPreconditionError(
            absl::StrCat("container ", container.metadata().name(), " is running")),
        absl::StrCat("plimsoll stop ", name, "  first, or  plimsoll rm --force ", name));
  }
  return client.RemoveContainer(container.id());
}

absl::StatusOr<int> Rm(const CommandContext& context, const std::vector<std::string>& names,
                       bool force) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const Inventory inventory, TakeInventory(*client));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto daemon, client->DaemonStatus());
  return ForEachName(context, names, [&](const std::string& name) {
    return OnPodOrContainer(
        inventory, name,
        [&](const cri::PodSandbox& pod) {
          return RemovePod(*client, inventory, pod, force, daemon.state_directory());
        },
        [&](const cri::Container& container) {
          return RemoveContainer(*client, container, force);
        });
  });
}

}  // namespace

void AddStopCommand(CLI::App& app, CommandContext& context) {
  CLI::App* stop = app.add_subcommand("stop", "Stop pods or containers, gently, then by force.");
  auto names = std::make_shared<std::vector<std::string>>();
  auto grace = std::make_shared<int64_t>(-1);
  stop->add_option("name", *names, "Names or ids of pods or containers")
      ->type_name("POD|CONTAINER")
      ->required();
  stop->add_option("-t,--time", *grace,
                   "Seconds until it is killed (default: the pod's terminationGracePeriodSeconds)")
      ->type_name("SECONDS")
      ->check(ZeroOrMore());
  context.Act(stop, [&context, names, grace] { return Stop(context, *names, *grace); });
}

void AddRmCommand(CLI::App& app, CommandContext& context) {
  CLI::App* rm = app.add_subcommand(
      "rm", "Remove stopped pods or containers, with their logs and emptyDir volumes.");
  auto names = std::make_shared<std::vector<std::string>>();
  auto force = std::make_shared<bool>(false);
  rm->add_option("name", *names, "Names or ids of pods or containers")
      ->type_name("POD|CONTAINER")
      ->required();
  rm->add_flag("-f,--force", *force, "Kill what is running");
  context.Act(rm, [&context, names, force] { return Rm(context, *names, *force); });
}

}  // namespace plimsoll::cli
