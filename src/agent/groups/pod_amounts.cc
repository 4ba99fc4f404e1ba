#include "agent/groups/pod_amounts.h"

#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "base/status.h"
#include "resources/pod_total.h"

namespace plimsoll::agent {
namespace {

using resources::QosClass;
using resources::Quantity;
using resources::Requirements;
using resources::ResourceList;

constexpr char kCpu[] = "cpu";
constexpr char kMemory[] = "memory";

bool IsAbove0(const ResourceList& list, const char* name) {
  const auto at = list.find(name);
  return at != list.end() && at->second.Sign() > 0;
}

// An init container counts together with the sidecars before it, as in kubelet: one limited sidecar
// is enough for those that start after it.
bool IsLimited(const PodResources& pod, const char* name) {
  using Role = resources::ContainerRequirements::Role;
  bool sidecar_is = false;
  return absl::c_all_of(pod.containers, [&](const resources::ContainerRequirements& container) {
    const bool is = IsAbove0(container.requirements.limits, name);
    if (container.role == Role::kContainer) return is;
    sidecar_is |= is && container.role == Role::kSidecar;
    return is || sidecar_is;
  });
}

// The least bound of the whole pod; nullopt where some container has none.
std::optional<Quantity> LimitOf(const PodResources& pod, const ResourceList& totals,
                                const char* name) {
  const bool is_declared = IsAbove0(pod.pod.limits, name) || IsLimited(pod, name);
  if (!is_declared || !IsAbove0(totals, name)) return std::nullopt;
  return totals.at(name);
}

absl::Status AddHugePages(const ResourceList& limits, linux::CgroupSettings* settings) {
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::CgroupSettings all,
                            resources::ToCgroupSettings({.requests = {}, .limits = limits}));
  settings->hugetlb_limits = all.hugetlb_limits;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PodAmounts> AmountsOf(const PodResources& pod, const CpuQuotaPolicy& policy) {
  PodAmounts amounts;
  amounts.qos = resources::PodQosClass(pod.containers, pod.pod);
  const Requirements total = resources::PodTotal(pod.containers, pod.pod, pod.overhead);
  PLIMSOLL_RETURN_IF_ERROR(AddHugePages(total.limits, &amounts.settings));
  linux::CgroupSettings& settings = amounts.settings;
  settings.cpu_shares = resources::kMinShares;
  settings.cpu_quota_us = -1;
  settings.cpu_period_us = policy.period_us;
  settings.memory_limit_bytes = -1;
  if (amounts.qos == QosClass::kBestEffort) return amounts;

  const auto request = total.requests.find(kCpu);
  if (request != total.requests.end()) amounts.cpu_request_milli = request->second.MilliValue();
  settings.cpu_shares = resources::MilliCpuToShares(amounts.cpu_request_milli);
  const auto cpu = LimitOf(pod, total.limits, kCpu);
  if (cpu.has_value() && policy.enforced) {
    settings.cpu_quota_us =
        resources::MilliCpuToQuota(cpu->MilliValue(), policy.period_us).value_or(-1);
  }
  const auto memory = LimitOf(pod, total.limits, kMemory);
  if (memory.has_value()) settings.memory_limit_bytes = memory->Value();
  return amounts;
}

}  // namespace plimsoll::agent
