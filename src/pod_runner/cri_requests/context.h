// Facts about one pod and its node that a manifest doesn't have.
#ifndef PLIMSOLL_POD_RUNNER_CRI_REQUESTS_CONTEXT_H_
#define PLIMSOLL_POD_RUNNER_CRI_REQUESTS_CONTEXT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/fs_root.h"
#include "pod_runner/cri_requests/host.h"
#include "pod_runner/manifest/objects.h"
#include "resources/requirements.h"

namespace plimsoll::pod {

// A node of the host's that a container gets, beside those of CDI devices.
struct HostDeviceNode {
  std::string host_path;
  std::string container_path;
  std::string permissions;  // of "r", "w", "m"
  bool operator==(const HostDeviceNode&) const = default;
};

// A path of the host's that a device brings into its container.
struct DeviceMount {
  std::string host_path;
  std::string container_path;
  bool read_only = false;
  bool operator==(const DeviceMount&) const = default;
};

// Devices that were allocated to a container, with all that belongs to them. Those of the pod's
// annotations come on top.
struct GivenDevices {
  std::vector<std::string> cdi_names;  // "vendor.com/gpu=0"
  std::vector<HostDeviceNode> nodes;
  std::vector<DeviceMount> mounts;
  std::map<std::string, std::string> env;          // the manifest's own win
  std::map<std::string, std::string> annotations;  // of the container's request
  bool operator==(const GivenDevices&) const = default;
};

// CPUs and NUMA nodes that a container is confined to.
struct ContainerPlace {
  std::string cpus;          // the kernel's list; empty: the runtime's choice
  std::string memory_nodes;  // likewise
  // The CPUs are the container's alone: no CFS quota limits it beside them (kubelet's gate
  // DisableCPUQuotaWithExclusiveCPUs).
  bool exclusive = false;
  bool operator==(const ContainerPlace&) const = default;
};

// How containers get their seccomp profiles, as under a kubelet.
struct SeccompRules {
  std::string profile_root = "/var/lib/kubelet/seccomp";  // Localhost profiles are relative to it
  bool runtime_default =
      false;  // seccompDefault: a container without a profile gets RuntimeDefault
  bool operator==(const SeccompRules&) const = default;
};

// kubelet's memorySwap.swapBehavior (KEP-2400).
enum class SwapBehavior { kNoSwap, kLimitedSwap };
// The machine's control of swap by cgroups.
enum class SwapControl { kNone, kV1, kV2 };

// The limits of CPU and memory in a sandbox's own resources, beside those that the pod has itself
// (KEP-2837).
enum class SandboxLimits {
  kOwn,  // none
  // The containers' sum where it bounds the pod (resources::IsBounded): the runtime holds the pod's
  // group to it, and would hold a container without a limit to those of its siblings.
  kBounds,
  // The sum of the limits that containers have, as kubelet sends it: by it a runtime sizes a
  // virtual machine.
  kSums,
};

// The number of user ids in a pod's own user namespace.
inline constexpr uint32_t kIdsOfAPod = 65536;

struct PodContext {
  std::string uid;
  std::string log_directory;
  std::map<std::string, std::string> volumes;  // name -> host path; none for an image volume
  int64_t memory_capacity_bytes = 0;
  ResolvConf host_dns;  // dnsConfig adds to it
  // The first of the host's ids in the pod's user namespace, if it has one (see
  // pod_runner/user_ids.h).
  uint32_t first_id = 0;
  // The daemon's class types of pods. If "pod-qos" is among them, the request carries the pod's QoS
  // class: the daemon doesn't see the requests and limits that Kubernetes derives it from. The
  // daemon then reads no class annotation of the pod, so the request carries those classes too.
  std::set<std::string> pod_class_types;

  std::string node_name;              // spec.nodeName
  std::vector<std::string> host_ips;  // status.hostIPs
  // status.podIPs. Empty until the sandbox has them: see NeedsPodIps. A pod on the host's network
  // has the host's.
  std::vector<std::string> pod_ips;
  // The node's cpu, memory, ...: the limits of a container that has none (resourceFieldRef).
  resources::ResourceList allocatable;
  // ConfigMaps and Secrets; nullptr: there are none. Outlives this.
  const ConfigObjects* objects = nullptr;
  // Mounted at /etc/hosts of each container (see hosts_file.h); empty: the runtime gives one.
  std::string hosts_file;
  // Files for termination messages, by container; a container without one has no such mount.
  std::map<std::string, std::string> termination_logs;
  std::map<std::string, GivenDevices> devices;   // by container
  std::map<std::string, ContainerPlace> places;  // by container; absent: the runtime's choice
  // See swap.h. nullopt: how much the pod swaps is the runtime's choice.
  std::optional<SwapBehavior> swap;
  SwapControl swap_control = SwapControl::kNone;
  int64_t swap_capacity_bytes = 0;
  SandboxLimits sandbox_limits = SandboxLimits::kOwn;
  bool is_critical = false;  // kubelet's critical pods never swap
  SeccompRules seccomp;
  // A process that is killed for want of memory takes its whole container with it (cgroup v2's
  // memory.oom.group).
  bool kills_whole_containers = false;
  // Ids of the images of image volumes, by reference, as the runtime has them. Without an id the
  // runtime gets the reference.
  std::map<std::string, std::string> image_ids;
};

// Fills in the facts of the machine: name, addresses, memory, DNS, CPUs. `root` is "/".
absl::Status DescribeNode(const FsRoot& root, PodContext& context);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_CRI_REQUESTS_CONTEXT_H_
