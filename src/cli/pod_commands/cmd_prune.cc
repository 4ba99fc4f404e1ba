// plimsoll prune
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fs_root.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "cli/command/command.h"
#include "cli/pod_commands/pod_commands.h"
#include "cli/pod_commands/remove_pod.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "pod_runner/lifecycle.h"
#include "pod_runner/pod_files/dir.h"

namespace plimsoll::cli {
namespace {

using Json = nlohmann::ordered_json;

struct PruneArguments {
  bool yes = false;
  bool dry_run = false;
  bool keep_images = false;
};

struct Plan {
  std::vector<cri::PodSandbox> pods;
  std::vector<cri::Image> images;
  size_t foreign = 0;  // ended pods of other clients
  bool empty() const { return pods.empty() && images.empty(); }
};

bool HasEnded(const pod::Inventory& inventory, const cri::PodSandbox& pod) {
  const auto containers = pod::ContainersOf(inventory, pod);
  const auto in = [&containers](cri::ContainerState state) {
    return std::count_if(containers.begin(), containers.end(),
                         [state](const auto* container) { return container->state() == state; });
  };
  if (in(cri::CONTAINER_RUNNING) > 0) return false;
  if (pod.state() != cri::SANDBOX_READY) return true;
  return !containers.empty() &&
         in(cri::CONTAINER_EXITED) == static_cast<std::ptrdiff_t>(containers.size());
}

std::string NameOf(const cri::PodSandbox& pod) {
  return absl::StrCat(pod.metadata().namespace_(), "/", pod.metadata().name());
}

// "1 pod", "2 pods".
std::string CountOf(size_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::string NameOf(const cri::Image& image) {
  return image.repo_tags_size() > 0      ? image.repo_tags(0)
         : image.repo_digests_size() > 0 ? image.repo_digests(0)
                                         : image.id();
}

absl::StatusOr<Plan> MakePlan(pod::Client& client, const pod::Inventory& inventory,
                              const std::string& state_directory, bool keep_images) {
  PLIMSOLL_ASSIGN_OR_RETURN(const FsRoot root, FsRoot::Open("/"));
  Plan plan;
  std::set<std::string> going;  // ids of pods
  for (const cri::PodSandbox& pod : inventory.pods) {
    if (!HasEnded(inventory, pod)) continue;
    // The maker of another pod waits for its containers' ends; a `run` may be about to restart one.
    if (!pod::IsLetGo(root, state_directory, pod.metadata().uid())) {
      ++plan.foreign;
      continue;
    }
    plan.pods.push_back(pod);
    going.insert(pod.id());
  }
  if (keep_images) return plan;
  std::set<std::string> used;
  for (const cri::Container& container : inventory.containers) {
    if (going.contains(container.pod_sandbox_id())) continue;
    used.insert({container.image_id(), container.image_ref(), container.image().image()});
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const auto images, client.ListImages());
  for (const cri::Image& image : images) {
    if (!image.pinned() && !used.contains(image.id())) plan.images.push_back(image);
  }
  return plan;
}

void PrintPlan(const Plan& plan) {
  Table table({"KIND", "ID", "SIZE", "NAME"});
  for (const cri::PodSandbox& pod : plan.pods) {
    table.AddRow({"pod", ShortId(pod.id()), "-", NameOf(pod)});
  }
  for (const cri::Image& image : plan.images) {
    const std::string names =
        image.repo_tags_size() > 1 ? absl::StrJoin(image.repo_tags(), ", ") : NameOf(image);
    table.AddRow({"image", ShortId(image.id()), HumanBytes(image.size()), names});
  }
  if (!table.empty()) PrintNote(table.ToString());
  if (plan.foreign > 0) {
    const bool is_one = plan.foreign == 1;
    PrintNote(absl::StrCat(plan.foreign,
                           is_one ? " more ended pod stays: it belongs to another client"
                                  : " more ended pods stay: they belong to other clients",
                           ", or to a running `plimsoll run`\n"));
  }
}

absl::StatusOr<bool> Agreed(const PruneArguments& arguments) {
  if (arguments.yes) return true;
  if (isatty(STDIN_FILENO) == 0) {
    return UsageError(
        WithHint(absl::InvalidArgumentError(
                     "standard input is no terminal, so the removal can't be confirmed"),
                 "--yes removes without a question, --dry-run only shows the list."));
  }
  PrintNote("Remove all that? [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  answer = absl::AsciiStrToLower(absl::StripAsciiWhitespace(answer));
  return answer == "y" || answer == "yes";
}

// Free space on the disk of the daemon's state.
int64_t FreeBytes(const std::string& directory) {
  struct statvfs disk = {};
  if (statvfs(directory.c_str(), &disk) != 0) return 0;
  return static_cast<int64_t>(disk.f_bfree) * static_cast<int64_t>(disk.f_frsize);
}

struct Removed {
  Json pods = Json::array();
  Json images = Json::array();
  absl::Status first;  // the first error
};

void Note(Removed& removed, Json& list, const std::string& name, const absl::Status& status) {
  if (status.ok()) {
    list.push_back(name);
  } else if (removed.first.ok()) {
    removed.first = status;
  } else {
    PrintNote(FormatError(status));
  }
}

Removed RemovePlanned(pod::Client& client, const pod::Inventory& inventory, const Plan& plan,
                      const std::string& state_directory) {
  Removed removed;
  for (const cri::PodSandbox& pod : plan.pods) {
    // Without force: a pod that runs again is an error.
    Note(removed, removed.pods, NameOf(pod),
         RemovePod(client, inventory, pod, /*force=*/false, state_directory));
  }
  for (const cri::Image& image : plan.images) {
    Note(removed, removed.images, NameOf(image), client.RemoveImage(image.id()));
  }
  return removed;
}

absl::Status PrintRemoved(const CommandContext& context, const Removed& removed, int64_t freed) {
  if (!context.for_programs()) {
    Print(absl::StrCat("removed ", CountOf(removed.pods.size(), "pod"), " and ",
                       CountOf(removed.images.size(), "image"), ", ",
                       HumanBytes(static_cast<uint64_t>(std::max<int64_t>(0, freed))), " freed\n"));
    return absl::OkStatus();
  }
  const Json document = {{"pods", removed.pods},
                         {"images", removed.images},
                         {"freedBytes", std::max<int64_t>(0, freed)}};
  return PrintJson(document.dump(1, ' ', false, Json::error_handler_t::replace), context.format());
}

// Prints like PrintRemoved, for --dry-run.
absl::Status PrintNames(const CommandContext& context, const Plan& plan) {
  Json document = {{"pods", Json::array()}, {"images", Json::array()}};
  for (const cri::PodSandbox& pod : plan.pods) document["pods"].push_back(NameOf(pod));
  for (const cri::Image& image : plan.images) document["images"].push_back(NameOf(image));
  return PrintJson(document.dump(1, ' ', false, Json::error_handler_t::replace), context.format());
}

absl::StatusOr<int> Prune(const CommandContext& context, const PruneArguments& arguments) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto client, context.Connect());
  PLIMSOLL_ASSIGN_OR_RETURN(const auto daemon, client->own().DaemonStatus());
  const std::string& state = daemon.state_directory();
  PLIMSOLL_ASSIGN_OR_RETURN(const pod::Inventory inventory, pod::TakeInventory(*client));
  PLIMSOLL_ASSIGN_OR_RETURN(const Plan plan,
                            MakePlan(*client, inventory, state, arguments.keep_images));
  PrintPlan(plan);
  if (!plan.empty() && !arguments.dry_run) {
    PLIMSOLL_ASSIGN_OR_RETURN(const bool agreed, Agreed(arguments));
    if (!agreed) return kExitError;
  }
  if (arguments.dry_run) {
    if (context.for_programs()) PLIMSOLL_RETURN_IF_ERROR(PrintNames(context, plan));
    return kExitOk;
  }
  const int64_t before = FreeBytes(state);
  const Removed removed = RemovePlanned(*client, inventory, plan, state);
  PLIMSOLL_RETURN_IF_ERROR(
      FirstError(PrintRemoved(context, removed, FreeBytes(state) - before), removed.first));
  return kExitOk;
}

}  // namespace

void AddPruneCommand(CLI::App& app, CommandContext& context) {
  CLI::App* prune = app.add_subcommand(
      "prune",
      "Remove ended pods and unused images.\n\n"
      "Shows a list and asks before it removes anything. A pod is removed, with its logs and "
      "emptyDir volumes, if `plimsoll run` made it and no longer watches it, and all its "
      "containers have ended. Other clients' pods stay. An image is removed if it is not pinned "
      "and no remaining container uses it. The freed space is measured on the disk, so other "
      "programs' writes count too.");
  auto arguments = std::make_shared<PruneArguments>();
  prune->add_flag("-y,--yes", arguments->yes, "Don't ask");
  prune->add_flag("-n,--dry-run", arguments->dry_run, "Only show the list");
  prune->add_flag("--keep-images", arguments->keep_images, "Remove only pods");
  context.Act(prune, [&context, arguments] { return Prune(context, *arguments); });
}

}  // namespace plimsoll::cli
