#include "runtime/cgroups/pod_group_settings.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "absl/numeric/int128.h"
#include "resources/requirements.h"

namespace plimsoll::runtime {
namespace {

using linux::CgroupSettings;

// Adds `more`, if positive, to a limit that is set and not -1 (none). The sum saturates.
void Add(const std::optional<int64_t>& more, std::optional<int64_t>* limit) {
  if (limit->value_or(-1) < 0 || more.value_or(0) <= 0) return;
  **limit += std::min(*more, std::numeric_limits<int64_t>::max() - **limit);
}

void AddShares(const CgroupSettings& overhead, CgroupSettings* whole) {
  if (!whole->cpu_shares || !overhead.cpu_shares) return;
  const int64_t milli = resources::SharesToMilliCpu(*whole->cpu_shares) +
                        resources::SharesToMilliCpu(*overhead.cpu_shares);
  whole->cpu_shares = resources::MilliCpuToShares(milli);
}

void AddQuota(const CgroupSettings& overhead, CgroupSettings* whole) {
  if (whole->cpu_quota_us.value_or(-1) <= 0 || overhead.cpu_quota_us.value_or(-1) <= 0) return;
  const uint64_t period = whole->cpu_period_us.value_or(resources::kDefaultPeriodUs);
  const uint64_t other = overhead.cpu_period_us.value_or(resources::kDefaultPeriodUs);
  const absl::int128 more = absl::int128(*overhead.cpu_quota_us) * period / other;
  const absl::int128 most = std::numeric_limits<int64_t>::max();
  whole->cpu_quota_us = static_cast<int64_t>(std::min(most, more + *whole->cpu_quota_us));
}

template <typename T>
std::optional<T> Changed(const std::optional<T>& before, const std::optional<T>& after,
                         const std::optional<T>& named) {
  return named.has_value() || before != after ? after : std::nullopt;
}

template <typename T>
std::map<std::string, T> Changed(const std::map<std::string, T>& before,
                                 const std::map<std::string, T>& after,
                                 const std::map<std::string, T>& named) {
  std::map<std::string, T> changed;
  for (const auto& [key, value] : after) {
    const auto had = before.find(key);
    if (named.contains(key) || had == before.end() || had->second != value) changed[key] = value;
  }
  return changed;
}

}  // namespace

CgroupSettings PodGroupSettings(const SandboxSpec& pod) {
  CgroupSettings whole = pod.resources;
  AddShares(pod.overhead, &whole);
  AddQuota(pod.overhead, &whole);
  Add(pod.overhead.memory_limit_bytes, &whole.memory_limit_bytes);
  // This limit counts memory and swap together, so more memory raises it too.
  Add(pod.overhead.memory_limit_bytes, &whole.memory_swap_limit_bytes);
  Add(pod.overhead.pids_limit, &whole.pids_limit);
  for (auto& [size, bytes] : whole.hugetlb_limits) {
    const auto more = pod.overhead.hugetlb_limits.find(size);
    if (more == pod.overhead.hugetlb_limits.end()) continue;
    bytes += std::min(more->second, std::numeric_limits<uint64_t>::max() - bytes);
  }
  return whole;
}

CgroupSettings ChangedSettings(const CgroupSettings& before, const CgroupSettings& after,
                               const CgroupSettings& named) {
  CgroupSettings changed;
  const auto take = [&](auto member) {
    changed.*member = Changed(before.*member, after.*member, named.*member);
  };
  take(&CgroupSettings::cpu_shares);
  take(&CgroupSettings::cpu_quota_us);
  take(&CgroupSettings::cpu_period_us);
  take(&CgroupSettings::cpuset_cpus);
  take(&CgroupSettings::cpuset_mems);
  take(&CgroupSettings::memory_limit_bytes);
  take(&CgroupSettings::memory_swap_limit_bytes);
  take(&CgroupSettings::pids_limit);
  take(&CgroupSettings::hugetlb_limits);
  take(&CgroupSettings::unified);
  return changed;
}

}  // namespace plimsoll::runtime
