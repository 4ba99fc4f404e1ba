// The next steps for a pod: a function of its manifest and of the runtime's answers alone
// (kubelet's computePodActions, pkg/kubelet/kuberuntime).
#ifndef PLIMSOLL_AGENT_PODS_LIFE_PLAN_H_
#define PLIMSOLL_AGENT_PODS_LIFE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/pods/records/observed_pod.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

struct PodPlan {
  // The pod has ended for good: its containers are stopped and its sandbox too. Nothing starts.
  std::optional<PodEnd> end;
  // Sandboxes to stop before anything starts: of an earlier attempt, or of a pod that has ended.
  std::vector<std::string> stop_sandboxes;
  // A sandbox is to be made, with this attempt.
  std::optional<uint32_t> make_sandbox;
  // Containers to start now, in this order: indices of the manifest's. Each in the ready sandbox,
  // or in the one to be made. A created container that never started is among them.
  std::vector<size_t> start;
  // Dead containers that no status needs.
  std::vector<std::string> remove_containers;
  // Old sandboxes without a container.
  std::vector<std::string> remove_sandboxes;
  // The next step falls due by the clock alone; infinite future: it doesn't.
  absl::Time look_again = absl::InfiniteFuture();
};

// The earliest start of a container that ended (see BackOff).
using NotBefore = std::function<absl::Time(const ObservedContainer& ended)>;
// A sidecar or container may be waited for before the next one starts: its startup probe.
using HasStarted = std::function<bool(const ObservedContainer& running)>;

PodPlan PlanFor(const pod::Manifest& pod, const ObservedPod& observed, const NotBefore& not_before,
                const HasStarted& has_started, absl::Time now);

// A container that exited starts again, by its role and the pod's restart policy.
bool RestartsAfterExit(const pod::Manifest& pod, const pod::ContainerManifest& container,
                       int exit_code);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_PLAN_H_
