#include "cli/pod_lifecycle.h"

#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/fs_root.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "cli/errors.h"
#include "cli/pod_dir.h"
#include "cli/pod_to_cri.h"
#include "cli/text.h"

namespace plimsoll::cli {
namespace {

int64_t GraceOf(const cri::PodSandbox& pod) {
  int64_t seconds = kDefaultGraceSeconds;
  const auto it = pod.annotations().find(kGraceAnnotation);
  if (it != pod.annotations().end() && absl::SimpleAtoi(it->second, &seconds) && seconds >= 0) {
    return seconds;
  }
  return kDefaultGraceSeconds;
}

}  // namespace

absl::StatusOr<Inventory> TakeInventory(Client& client) {
  Inventory inventory;
  PLIMSOLL_ASSIGN_OR_RETURN(inventory.pods, client.ListPodSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(inventory.containers, client.ListContainers());
  return inventory;
}

std::vector<const cri::Container*> ContainersOf(const Inventory& inventory,
                                                const cri::PodSandbox& pod) {
  std::vector<const cri::Container*> containers;
  for (const cri::Container& container : inventory.containers) {
    if (container.pod_sandbox_id() == pod.id()) containers.push_back(&container);
  }
  return containers;
}

std::vector<std::string> NamesOf(const std::vector<cri::PodSandbox>& pods) {
  std::vector<std::string> names;
  std::map<std::string, int> times;
  for (const cri::PodSandbox& pod : pods) {
    names.push_back(absl::StrCat(pod.metadata().namespace_(), "/", pod.metadata().name()));
    ++times[names.back()];
  }
  for (size_t i = 0; i < pods.size(); ++i) {
    if (times[names[i]] > 1) names[i] = pods[i].id();
  }
  return names;
}

absl::Status StopPod(Client& client, const Inventory& inventory, const cri::PodSandbox& pod,
                     int64_t grace_s) {
  const int64_t grace = grace_s >= 0 ? grace_s : GraceOf(pod);
  std::vector<const cri::Container*> running = ContainersOf(inventory, pod);
  std::erase_if(running, [](const cri::Container* container) {
    return container->state() != cri::CONTAINER_RUNNING;
  });
  std::vector<absl::Status> results(running.size());
  EachAtOnce(running.size(), kStopsAtOnce,
             [&](size_t i) { results[i] = client.StopContainer(running[i]->id(), grace); });
  for (const absl::Status& result : results) PLIMSOLL_RETURN_IF_ERROR(result);
  return client.StopPodSandbox(pod.id());
}

absl::Status RemovePod(Client& client, const Inventory& inventory, const cri::PodSandbox& pod,
                       bool force, const std::string& state_directory) {
  if (!force && pod.state() == cri::SANDBOX_READY) {
    for (const cri::Container* container : ContainersOf(inventory, pod)) {
      if (container->state() != cri::CONTAINER_RUNNING) continue;
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

}  // namespace plimsoll::cli
