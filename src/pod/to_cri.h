// From a manifest to the CRI's messages: kubelet's part of the work.
#ifndef PLIMSOLL_POD_TO_CRI_H_
#define PLIMSOLL_POD_TO_CRI_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod/host.h"
#include "pod/manifest.h"

namespace plimsoll::pod {

namespace cri = ::runtime::v1;

// Keys that Plimsoll's own commands read back.
inline constexpr char kGraceAnnotation[] = "plimsoll.dev/grace-period-seconds";
inline constexpr char kRoleLabel[] = "plimsoll.dev/role";  // "container", "init", "sidecar"
inline constexpr char kQosAnnotation[] = "plimsoll.dev/qos-class";
// kubelet's, which other tools read.
inline constexpr char kPodNameLabel[] = "io.kubernetes.pod.name";
inline constexpr char kPodNamespaceLabel[] = "io.kubernetes.pod.namespace";
inline constexpr char kPodUidLabel[] = "io.kubernetes.pod.uid";
inline constexpr char kContainerNameLabel[] = "io.kubernetes.container.name";

struct PodContext {
  std::string uid;
  std::string log_directory;
  std::map<std::string, std::string> volumes;  // name -> host path
  int64_t memory_capacity_bytes = 0;
  ResolvConf host_dns;  // for dnsConfig on top of the host's
  // Of the host's ids that are the pod's, where it has a user namespace of its own (see
  // user_ids.h).
  uint32_t first_id = 0;
  // Class types of pods that the daemon has. With "pod-qos" among them the pod's QoS class is said
  // in the request, for the daemon doesn't see what Kubernetes derives it from. Not for a pod whose
  // annotations name classes of the pod as a whole: beside a message no annotation is read.
  std::set<std::string> pod_class_types;
};

struct PodConfigs {
  cri::PodSandboxConfig sandbox;
  std::vector<cri::ContainerConfig> containers;  // in the manifest's order
};

// INVALID_ARGUMENT names the container and the field.
absl::StatusOr<PodConfigs> ToCri(const Manifest& pod, const PodContext& context);

// The log file of a container's attempt, relative to the log directory.
std::string LogPathOf(const std::string& container, uint32_t attempt);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_TO_CRI_H_
