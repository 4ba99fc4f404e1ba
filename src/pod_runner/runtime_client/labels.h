// Keys of labels and annotations by which pods are found again in the runtime.
#ifndef PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_LABELS_H_
#define PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_LABELS_H_

namespace plimsoll::pod {

// Keys that Plimsoll's commands read.
inline constexpr char kGraceAnnotation[] = "plimsoll.dev/grace-period-seconds";
inline constexpr char kRoleLabel[] = "plimsoll.dev/role";  // "container", "init", "sidecar"
inline constexpr char kQosAnnotation[] = "plimsoll.dev/qos-class";
// On sandboxes and containers of an agent: its node's name.
inline constexpr char kAgentLabel[] = "plimsoll.dev/agent";
// kubelet's keys, which other tools read.
inline constexpr char kPodNameLabel[] = "io.kubernetes.pod.name";
inline constexpr char kPodNamespaceLabel[] = "io.kubernetes.pod.namespace";
inline constexpr char kPodUidLabel[] = "io.kubernetes.pod.uid";
inline constexpr char kContainerNameLabel[] = "io.kubernetes.container.name";

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_LABELS_H_
