#include "agent/groups/limits.h"

#include <cstdint>
#include <limits>
#include <optional>

#include "absl/numeric/int128.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::agent {
namespace {

using linux::CgroupSettings;

constexpr uint64_t kDefaultPeriodUs = 100000;

// A limit as an amount to compare; -1 is no limit.
uint64_t Amount(const std::optional<int64_t>& limit) {
  const int64_t value = limit.value_or(-1);
  return value < 0 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(value);
}

// The kernel rounds down. A limit below a page is left to be refused.
int64_t InPages(int64_t bytes, int64_t page_bytes) {
  return bytes < page_bytes ? bytes : resources::WholePages(bytes, page_bytes);
}

// Negative, 0 or positive: CPU time per second of `a` beside that of `b`.
int CompareRates(const CgroupSettings& a, const CgroupSettings& b) {
  const absl::uint128 scaled_a =
      absl::uint128(Amount(a.cpu_quota_us)) * b.cpu_period_us.value_or(kDefaultPeriodUs);
  const absl::uint128 scaled_b =
      absl::uint128(Amount(b.cpu_quota_us)) * a.cpu_period_us.value_or(kDefaultPeriodUs);
  const bool neither = a.cpu_quota_us.value_or(-1) < 0 && b.cpu_quota_us.value_or(-1) < 0;
  if (neither || scaled_a == scaled_b) return 0;
  if (a.cpu_quota_us.value_or(-1) < 0) return 1;
  if (b.cpu_quota_us.value_or(-1) < 0) return -1;
  return scaled_a > scaled_b ? 1 : -1;
}

// The members to take.
struct Choice {
  bool shares = false;
  bool quota = false;
  bool memory = false;
  bool pids = false;
};

CgroupSettings Choose(const CgroupSettings& wanted, const Choice& choice) {
  CgroupSettings chosen;
  if (choice.shares) chosen.cpu_shares = wanted.cpu_shares;
  if (choice.quota) {
    chosen.cpu_quota_us = wanted.cpu_quota_us;
    chosen.cpu_period_us = wanted.cpu_period_us;
  }
  if (choice.memory) chosen.memory_limit_bytes = wanted.memory_limit_bytes;
  if (choice.pids) chosen.pids_limit = wanted.pids_limit;
  return chosen;
}

// nullopt: no limit.
std::optional<uint64_t> HugePages(const CgroupSettings& settings, const std::string& size) {
  const auto at = settings.hugetlb_limits.find(size);
  return at == settings.hugetlb_limits.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace

CgroupSettings Fit(CgroupSettings settings, const GroupMachine& machine) {
  if (settings.cpu_shares && machine.layout == linux::CgroupLayout::kV2) {
    settings.cpu_shares = linux::CpuWeightToShares(linux::CpuSharesToWeight(*settings.cpu_shares));
  }
  if (settings.memory_limit_bytes) {
    settings.memory_limit_bytes = InPages(*settings.memory_limit_bytes, machine.page_bytes);
  }
  if (!machine.controllers.contains("pids")) settings.pids_limit.reset();
  const bool has_hugetlb = machine.controllers.contains("hugetlb");
  std::erase_if(settings.hugetlb_limits, [&](const auto& limit) {
    return !has_hugetlb || !machine.huge_page_sizes.contains(limit.first);
  });
  return settings;
}

std::vector<std::string> LimitsLost(const GroupMachine& machine) {
  std::vector<std::string> lost;
  if (!machine.controllers.contains("pids")) {
    lost.emplace_back("limits of pods' processes are not enforced: no cgroup controller pids");
  }
  if (!machine.controllers.contains("hugetlb") && !machine.huge_page_sizes.empty()) {
    lost.emplace_back("limits of pods' huge pages are not enforced: no cgroup controller hugetlb");
  }
  return lost;
}

CgroupSettings Changes(const CgroupSettings& now, const CgroupSettings& wanted) {
  CgroupSettings changes = Choose(
      wanted,
      {.shares = wanted.cpu_shares && wanted.cpu_shares != now.cpu_shares,
       .quota = wanted.cpu_quota_us && (wanted.cpu_quota_us != now.cpu_quota_us ||
                                        wanted.cpu_period_us != now.cpu_period_us),
       .memory = wanted.memory_limit_bytes && wanted.memory_limit_bytes != now.memory_limit_bytes,
       .pids = wanted.pids_limit && wanted.pids_limit != now.pids_limit});
  for (const auto& [size, bytes] : wanted.hugetlb_limits) {
    if (HugePages(now, size) != bytes) changes.hugetlb_limits[size] = bytes;
  }
  return changes;
}

CgroupSettings Raises(const CgroupSettings& now, const CgroupSettings& wanted) {
  const CgroupSettings changes = Changes(now, wanted);
  CgroupSettings raises = Choose(
      changes, {.shares = changes.cpu_shares && changes.cpu_shares > now.cpu_shares,
                .quota = changes.cpu_quota_us && CompareRates(changes, now) > 0,
                .memory = changes.memory_limit_bytes &&
                          Amount(changes.memory_limit_bytes) > Amount(now.memory_limit_bytes),
                .pids = changes.pids_limit && Amount(changes.pids_limit) > Amount(now.pids_limit)});
  for (const auto& [size, bytes] : changes.hugetlb_limits) {
    const std::optional<uint64_t> before = HugePages(now, size);
    if (before.has_value() && *before < bytes) raises.hugetlb_limits[size] = bytes;
  }
  return raises;
}

CgroupSettings Replaced(const CgroupSettings& now, const CgroupSettings& written) {
  CgroupSettings before = Choose(now, {.shares = written.cpu_shares.has_value(),
                                       .quota = written.cpu_quota_us.has_value(),
                                       .memory = written.memory_limit_bytes.has_value(),
                                       .pids = written.pids_limit.has_value()});
  for (const auto& [size, bytes] : written.hugetlb_limits) {
    const std::optional<uint64_t> limit = HugePages(now, size);
    if (limit.has_value()) before.hugetlb_limits[size] = *limit;
  }
  return before;
}

}  // namespace plimsoll::agent
