// Translation between Kubernetes requests and limits and Linux settings, both ways, as kubelet does
// it (pkg/kubelet/cm/helpers_linux.go, pkg/kubelet/kuberuntime, pkg/kubelet/qos).
#ifndef PLIMSOLL_RESOURCES_REQUIREMENTS_H_
#define PLIMSOLL_RESOURCES_REQUIREMENTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "linux/cgroup/settings.h"
#include "resources/quantity.h"

namespace plimsoll::resources {

// Resource name ("cpu", "memory", "hugepages-2Mi") to amount.
using ResourceList = std::map<std::string, Quantity>;

struct Requirements {
  ResourceList requests;
  ResourceList limits;
};

// Makes a limit without a request a request too, as the API server does.
Requirements WithDefaults(Requirements requirements);

// INVALID_ARGUMENT names the resource: negative amounts, a request above its limit, hugepages whose
// request is not their limit or is no multiple of the page size, and amounts that no control file
// holds: above 175921860 CPUs or 9223372036854775806 bytes. `requirements` as written, before
// WithDefaults.
absl::Status Validate(const Requirements& requirements);
// The same for amounts that only inform (KEP-4112), which may be of any size: nothing writes them.
absl::Status ValidateWritten(const Requirements& requirements);

// --- CPU
inline constexpr uint64_t kMinShares = 2;
inline constexpr uint64_t kMaxShares = 262144;
inline constexpr uint64_t kDefaultPeriodUs = 100000;
inline constexpr int64_t kMinQuotaUs = 1000;

// cpu.shares, 1024 for each whole CPU, clamped to kMinShares..kMaxShares.
uint64_t MilliCpuToShares(int64_t milli_cpu);
// cpu.cfs_quota_us for a period; at least kMinQuotaUs. Absent for 0: no limit.
std::optional<int64_t> MilliCpuToQuota(int64_t milli_cpu, uint64_t period_us = kDefaultPeriodUs);
// The smallest number of thousandths of a CPU that gives these shares; 0 below kMinShares.
int64_t SharesToMilliCpu(uint64_t shares);
// 0 for a quota of -1 (no limit).
int64_t QuotaToMilliCpu(int64_t quota_us, uint64_t period_us);

// --- the container's cgroup
// Shares from the CPU request (from the limit where there is no request), quota and period from the
// CPU limit, the memory limit and hugepage limits. Absent members: no limit requested.
absl::StatusOr<linux::CgroupSettings> ToCgroupSettings(const Requirements& requirements);

// "hugepages-2Mi" -> "2MB", as the kernel's files spell it. INVALID_ARGUMENT for another resource
// name or a size that is no power of two.
absl::StatusOr<std::string> HugepageSizeName(absl::string_view resource);

// --- QoS
enum class QosClass { kGuaranteed, kBurstable, kBestEffort };
const char* QosClassName(QosClass qos);  // "Guaranteed"

struct ContainerRequirements {
  enum class Role { kContainer, kInit, kSidecar };
  Role role = Role::kContainer;
  Requirements requirements;  // with defaults filled in
};

// The class of a whole pod, init containers included; only cpu and memory count. Guaranteed: every
// container has a limit for both, and the sums of requests and limits are equal. BestEffort: no
// container requests or limits anything.
QosClass ComputeQosClass(const std::vector<ContainerRequirements>& pod);

// oom_score_adj of the pod's container `index`: -997 Guaranteed, 1000 BestEffort; Burstable 3 to
// 999, lower for a larger requested share of the machine's memory. A sidecar is never killed before
// the pod's ordinary containers.
int OomScoreAdj(const std::vector<ContainerRequirements>& pod, size_t index,
                int64_t memory_capacity_bytes);

// --- swap (KEP-2400, LimitedSwap)
// Bytes of swap for one container: the share of `swap_bytes` that it requests of `memory_bytes`.
// 0 for pods that are not Burstable, without a memory request, where request equals limit, or where
// it is more than the machine has.
int64_t LimitedSwapBytes(const Requirements& requirements, QosClass qos, int64_t memory_bytes,
                         int64_t swap_bytes);

}  // namespace plimsoll::resources

#endif  // PLIMSOLL_RESOURCES_REQUIREMENTS_H_
