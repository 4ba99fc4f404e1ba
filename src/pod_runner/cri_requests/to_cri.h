// Translates a manifest to the CRI's messages, as kubelet does.
#ifndef PLIMSOLL_POD_RUNNER_CRI_REQUESTS_TO_CRI_H_
#define PLIMSOLL_POD_RUNNER_CRI_REQUESTS_TO_CRI_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "cri/runtime/v1/api.pb.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

namespace cri = ::runtime::v1;

struct PodConfigs {
  cri::PodSandboxConfig sandbox;
  std::vector<cri::ContainerConfig> containers;  // in the manifest's order
  // RunPodSandboxRequest.runtime_handler
  std::string runtime_handler;
  // By container, then by its volumeMounts, which are the config's first mounts: the path below the
  // volume. Empty: none, or the runtime resolves it itself (image volumes).
  std::vector<std::vector<std::string>> sub_paths;
};

// INVALID_ARGUMENT names the container and the field, NOT_FOUND the missing object. Errors hold no
// value of a Secret.
absl::StatusOr<PodConfigs> ToCri(const Manifest& pod, const PodContext& context);

// The parts of ToCri's messages that change while the pod lives (KEP-1287, KEP-3953): the limits
// and the place of container `index`, its requests and limits as written, and the names, types and
// written amounts of all containers together. `index` is in range; of the context, amounts, places
// and swap count. INVALID_ARGUMENT as ToCri.
absl::StatusOr<cri::LinuxContainerResources> LimitsToCri(const Manifest& pod, size_t index,
                                                         const PodContext& context);
cri::KubernetesResources WrittenToCri(const Manifest& pod, size_t index);
cri::PodResourceConfig AllWrittenToCri(const Manifest& pod);

// The resources of the pod as a whole, as SetGroup. No quota limits a pod whose CPUs are its alone.
absl::StatusOr<cri::LinuxContainerResources> GroupToCri(const Manifest& pod,
                                                        const PodContext& context);

// Names the root of Localhost profiles, and its settings, in the runtime's error about a container
// whose seccomp profile is missing. Other errors stay as they are.
absl::Status NamingProfileRoot(const absl::Status& status, const SeccompRules& rules);

// The pod's host name. Linux takes 64 bytes, Kubernetes cuts at 63.
std::string HostnameOf(const Manifest& pod);

// The log file of a container's attempt, relative to the log directory.
std::string LogPathOf(const std::string& container, uint32_t attempt);

// The highest attempt of a container that has a log, rotated ones too; nullopt: none has.
std::optional<uint32_t> LastLogged(const FsRoot& root, const std::string& log_directory,
                                   const std::string& container);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_CRI_REQUESTS_TO_CRI_H_
