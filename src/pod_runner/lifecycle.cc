#include "pod_runner/lifecycle.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "pod_runner/runtime_client/labels.h"

namespace plimsoll::pod {
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

bool IsRunning(const Inventory& inventory, const cri::PodSandbox& pod) {
  const std::vector<const cri::Container*> containers = ContainersOf(inventory, pod);
  return pod.state() == cri::SANDBOX_READY &&
         std::any_of(containers.begin(), containers.end(), [](const cri::Container* container) {
           return container->state() == cri::CONTAINER_RUNNING;
         });
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

absl::Status RemovePod(Client& client, const cri::PodSandbox& pod) {
  PLIMSOLL_RETURN_IF_ERROR(client.StopPodSandbox(pod.id()));
  return client.RemovePodSandbox(pod.id());
}

}  // namespace plimsoll::pod
