#include "linux/cgroup_settings.h"

namespace plimsoll::linux {
namespace {

template <typename T>
void Overlay(const std::optional<T>& from, std::optional<T>* to) {
  if (from.has_value()) *to = from;
}

}  // namespace

void MergeInto(const CgroupSettings& update, CgroupSettings* settings) {
  const auto& [shares, quota, period, cpus, mems, memory, swap, pids, hugetlb, unified] = update;
  Overlay(shares, &settings->cpu_shares);
  Overlay(quota, &settings->cpu_quota_us);
  Overlay(period, &settings->cpu_period_us);
  Overlay(cpus, &settings->cpuset_cpus);
  Overlay(mems, &settings->cpuset_mems);
  Overlay(memory, &settings->memory_limit_bytes);
  Overlay(swap, &settings->memory_swap_limit_bytes);
  Overlay(pids, &settings->pids_limit);
  for (const auto& [size, limit] : hugetlb) settings->hugetlb_limits[size] = limit;
  for (const auto& [file, value] : unified) settings->unified[file] = value;
}

}  // namespace plimsoll::linux
