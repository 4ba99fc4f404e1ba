#include "agent/groups/pod_amounts.h"

#include <optional>
#include <string>

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

// The least bound of the whole pod; nullopt where some container has none.
std::optional<Quantity> LimitOf(const PodResources& pod, const ResourceList& totals,
                                const char* name) {
  if (!resources::IsBounded(pod.containers, pod.pod, name)) return std::nullopt;
  const auto total = totals.find(name);
  if (total == totals.end() || total->second.Sign() <= 0) return std::nullopt;
  return total->second;
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
