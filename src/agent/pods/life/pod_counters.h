// Counters of the agent's pods, under kubelet's names (pkg/kubelet/metrics).
#ifndef PLIMSOLL_AGENT_PODS_LIFE_POD_COUNTERS_H_
#define PLIMSOLL_AGENT_PODS_LIFE_POD_COUNTERS_H_

#include "agent/counters/counters.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

inline constexpr CounterKind kStartedPods = {"kubelet_started_pods_total",
                                             "Starts of pods' sandboxes, failed ones included."};
inline constexpr CounterKind kStartedPodsErrors = {"kubelet_started_pods_errors_total",
                                                   "Starts of pods' sandboxes that failed."};
// The code is the container's reason to wait: "ErrImagePull", "CreateContainerError".
inline constexpr CounterKind kStartedContainers = {"kubelet_started_containers_total",
                                                   "Starts of containers, failed ones included.",
                                                   "container_type"};
inline constexpr CounterKind kStartedContainersErrors = {"kubelet_started_containers_errors_total",
                                                         "Starts of containers that failed.",
                                                         "container_type", "code"};

// Bounds are kubelet's.
inline constexpr double kPodStartBounds[] = {0.5, 1,   2,   3,    4,    5,    6,   8,   10,
                                             20,  30,  45,  60,   120,  180,  240, 300, 360,
                                             480, 600, 900, 1200, 1800, 2700, 3600};
inline constexpr double kPodWorkerBounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                              0.5,   1,    2.5,   5,    10};
inline constexpr TimerKind kPodStart = {
    {"kubelet_pod_start_duration_seconds",
     "Time from a pod's arrival until all of its containers have started."},
    kPodStartBounds};
inline constexpr TimerKind kPodWorker = {
    {"kubelet_pod_worker_duration_seconds", "Time of a step of a pod's worker.", "operation_type"},
    kPodWorkerBounds};

// Values of label container_type.
inline const char* ContainerType(resources::ContainerRequirements::Role role) {
  return role == resources::ContainerRequirements::Role::kContainer ? "container"
                                                                    : "init_container";
}

// Shows the counters of no labels before anything was counted.
inline void ShowPodCounters(Counters& counters) {
  counters.Add(kStartedPods, {}, 0);
  counters.Add(kStartedPodsErrors, {}, 0);
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_POD_COUNTERS_H_
