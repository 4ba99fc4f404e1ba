#include "linux/cgroup/settings.h"

namespace plimsoll::linux {
namespace {

template <typename T>
void OverlaySetting(const std::optional<T>& from, std::optional<T>* to) {
  if (from.has_value()) *to = from;
}

}  // namespace

void MergeInto(const CgroupSettings& update, CgroupSettings* settings) {
  const auto& [shares, quota, period, cpus, mems, memory, swap, pids, hugetlb, unified] = update;
  OverlaySetting(shares, &settings->cpu_shares);
  OverlaySetting(quota, &settings->cpu_quota_us);
  OverlaySetting(period, &settings->cpu_period_us);
  OverlaySetting(cpus, &settings->cpuset_cpus);
  OverlaySetting(mems, &settings->cpuset_mems);
  OverlaySetting(memory, &settings->memory_limit_bytes);
  OverlaySetting(swap, &settings->memory_swap_limit_bytes);
  OverlaySetting(pids, &settings->pids_limit);
  for (const auto& [size, limit] : hugetlb) settings->hugetlb_limits[size] = limit;
  for (const auto& [file, value] : unified) settings->unified[file] = value;
}

}  // namespace plimsoll::linux
