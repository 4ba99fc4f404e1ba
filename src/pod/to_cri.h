// Translates a manifest to the CRI's messages, as kubelet does.
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

// Keys that Plimsoll's commands read.
inline constexpr char kGraceAnnotation[] = "plimsoll.dev/grace-period-seconds";
inline constexpr char kRoleLabel[] = "plimsoll.dev/role";  // "container", "init", "sidecar"
inline constexpr char kQosAnnotation[] = "plimsoll.dev/qos-class";
// kubelet's keys, which other tools read.
inline constexpr char kPodNameLabel[] = "io.kubernetes.pod.name";
inline constexpr char kPodNamespaceLabel[] = "io.kubernetes.pod.namespace";
inline constexpr char kPodUidLabel[] = "io.kubernetes.pod.uid";
inline constexpr char kContainerNameLabel[] = "io.kubernetes.container.name";

struct PodContext {
  std::string uid;
  std::string log_directory;
  std::map<std::string, std::string> volumes;  // name -> host path
  int64_t memory_capacity_bytes = 0;
  ResolvConf host_dns;  // dnsConfig adds to it
  // The first of the host's ids in the pod's user namespace, if it has one (see user_ids.h).
  uint32_t first_id = 0;
  // The daemon's class types of pods. If "pod-qos" is among them, the request carries the pod's QoS
  // class: the daemon doesn't see the requests and limits that Kubernetes derives it from. The
  // daemon then reads no class annotation of the pod, so the request carries those classes too.
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
