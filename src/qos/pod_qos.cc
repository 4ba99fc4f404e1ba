#include "qos/pod_qos.h"

#include <cstdint>

#include "absl/strings/match.h"

namespace plimsoll::qos {
namespace {

constexpr char kGuaranteed[] = "Guaranteed";
constexpr char kBurstable[] = "Burstable";
constexpr char kBestEffort[] = "BestEffort";

// Kubelet's shares for a pod that requests no CPU.
constexpr uint64_t kFewestShares = 2;

// Whether as much CPU is requested as the limit: 1024 shares for each whole CPU of quota.
bool RequestsTheLimit(const linux::CgroupSettings& resources) {
  const uint64_t period = resources.cpu_period_us.value_or(100000);
  if (period == 0 || resources.cpu_quota_us.value_or(-1) <= 0) return false;
  const uint64_t shares = static_cast<uint64_t>(*resources.cpu_quota_us) * 1024 / period;
  return resources.cpu_shares.value_or(0) >= shares;
}

}  // namespace

std::vector<ClassInfo> PodQosType::classes() const {
  return {{kGuaranteed, 0, "every container has limits and requests as much"},
          {kBurstable, 0, "some container requests or limits something"},
          {kBestEffort, 0, "no container requests or limits anything"}};
}

std::string DerivePodQos(absl::string_view cgroup_parent, const linux::CgroupSettings& resources) {
  if (absl::StrContains(cgroup_parent, "kubepods")) {
    if (absl::StrContains(cgroup_parent, "besteffort")) return kBestEffort;
    if (absl::StrContains(cgroup_parent, "burstable")) return kBurstable;
    return kGuaranteed;
  }
  const bool limits_memory = resources.memory_limit_bytes.value_or(-1) > 0;
  const bool limits_cpu = resources.cpu_quota_us.value_or(-1) > 0;
  if (limits_memory && limits_cpu && RequestsTheLimit(resources)) return kGuaranteed;
  const bool requests_cpu = resources.cpu_shares.value_or(0) > kFewestShares;
  return limits_memory || limits_cpu || requests_cpu ? kBurstable : kBestEffort;
}

}  // namespace plimsoll::qos
