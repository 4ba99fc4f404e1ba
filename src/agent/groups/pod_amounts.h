// The settings of a pod's control group, from the pod's requests and limits, as kubelet computes
// them (ResourceConfigForPod in pkg/kubelet/cm/helpers_linux.go). Pure functions.
#ifndef PLIMSOLL_AGENT_GROUPS_POD_AMOUNTS_H_
#define PLIMSOLL_AGENT_GROUPS_POD_AMOUNTS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "linux/cgroup/settings.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

// The amounts of a pod as a manifest writes them.
struct PodResources {
  // In the pod's order, init containers first, with defaults filled in (WithDefaults).
  std::vector<resources::ContainerRequirements> containers;
  resources::Requirements pod;       // the pod's own (KEP-2837)
  resources::ResourceList overhead;  // of its runtime class
};

// kubelet's cpuCFSQuota and cpuCFSQuotaPeriod.
struct CpuQuotaPolicy {
  bool enforced = true;
  uint64_t period_us = resources::kDefaultPeriodUs;  // 1000 to 1000000
};

struct PodAmounts {
  resources::QosClass qos = resources::QosClass::kBestEffort;
  // Thousandths of a CPU that the pod adds to its QoS class; overhead included.
  int64_t cpu_request_milli = 0;
  // CPU shares, quota and period, the memory limit, and limits of huge pages that the pod has.
  // CPU and memory are always set, to -1 where the pod has no limit.
  linux::CgroupSettings settings;
};

// A limit of CPU or memory bounds the pod if the pod has it, or if each of its containers has one
// (an init container also if a sidecar before it has one); then the overhead is added.
// INVALID_ARGUMENT names a resource of huge pages with an impossible size.
absl::StatusOr<PodAmounts> AmountsOf(const PodResources& pod, const CpuQuotaPolicy& policy);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_GROUPS_POD_AMOUNTS_H_
