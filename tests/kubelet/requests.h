// Messages as kubelet 1.36 sends them (default feature gates, cgroup driver cgroupfs), for a pod of
// one namespace "default". kubelet omits no member of LinuxContainerResources for being unchanged:
// every update carries them all.
#ifndef PLIMSOLL_TESTS_KUBELET_REQUESTS_H_
#define PLIMSOLL_TESTS_KUBELET_REQUESTS_H_

#include <cstdint>
#include <string>

#include "cri/runtime/v1/api.pb.h"

namespace plimsoll::testing::kubelet {

namespace cri = ::runtime::v1;

constexpr int64_t kMiB = 1 << 20;

enum class Qos { kGuaranteed, kBurstable, kBestEffort };

// The container author's resources; 0: none.
struct Resources {
  Qos qos = Qos::kBestEffort;
  int64_t cpu_request_milli = 0;
  int64_t cpu_limit_milli = 0;
  int64_t memory_limit_bytes = 0;
  // Static CPU manager and the gate DisableCPUQuotaWithExclusiveCPUs (on by default): the container
  // has these CPUs for itself, and a quota of -1.
  std::string exclusive_cpus;
};

Resources BestEffort();
Resources Burstable(int64_t cpu_milli, int64_t memory_bytes);  // a request of half of both limits
Resources Guaranteed(int64_t cpu_milli, int64_t memory_bytes);

// For CreateContainer and UpdateContainerResources alike.
cri::LinuxContainerResources LinuxResources(const Resources& resources);

// RunPodSandbox. `cgroup_parent`: the pod's own group, which kubelet has made before.
cri::PodSandboxConfig PodSandbox(const std::string& name, const std::string& cgroup_parent,
                                 const std::string& log_directory, const Resources& resources);
// UpdatePodSandboxResources, which comes before kubelet writes the pod's group.
cri::UpdatePodSandboxResourcesRequest PodUpdate(const std::string& pod, const Resources& resources);

// CreateContainer of image "busybox" that runs `script` in sh.
cri::ContainerConfig Container(const std::string& name, uint32_t attempt, const std::string& script,
                               const Resources& resources);
// The mount of a volume that is no image, in a pod that also has an image volume: its subPath is in
// both members.
cri::Mount SubPathMount(const std::string& host_path, const std::string& container_path,
                        const std::string& sub_path);

// UpdateContainerResources of a resize in place.
cri::UpdateContainerResourcesRequest Resize(const std::string& container,
                                            const Resources& resources);
// The CPU manager's reconciliation: a CPU set and nothing else.
cri::UpdateContainerResourcesRequest PinCpus(const std::string& container, const std::string& cpus);

}  // namespace plimsoll::testing::kubelet

#endif  // PLIMSOLL_TESTS_KUBELET_REQUESTS_H_
