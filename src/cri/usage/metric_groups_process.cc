#include "cri/usage/metric_groups.h"

namespace plimsoll::cri {
namespace {

// On cgroup v1 "no limit" is the largest number a limit can have, rounded down to pages.
constexpr int64_t kUnlimited = int64_t{1} << 62;

// No limit is 0, as in cAdvisor.
std::optional<uint64_t> Limit(const std::optional<int64_t>& limit) {
  if (!limit.has_value()) return std::nullopt;
  return *limit < 0 || *limit > kUnlimited ? 0 : static_cast<uint64_t>(*limit);
}

uint64_t SecondsOf(int64_t unix_nanos) {
  return static_cast<uint64_t>(unix_nanos / 1'000'000'000);
}

}  // namespace

void AddProcessMetrics(const runtime::ContainerCounters& counters, MetricWriter* out) {
  out->Add(kProcesses, counters.processes);
  out->Add(kThreads, counters.more.threads);
  out->Add(kThreadsMax, Limit(counters.limits.pids_limit));
  if (counters.tasks.has_value()) {
    out->Add(kTasksState, counters.tasks->sleeping, {"sleeping"});
    out->Add(kTasksState, counters.tasks->running, {"running"});
    out->Add(kTasksState, counters.tasks->stopped, {"stopped"});
    out->Add(kTasksState, counters.tasks->uninterruptible, {"uninterruptible"});
    // /proc doesn't say which tasks wait for a disk.
    out->Add(kTasksState, 0, {"iowaiting"});
  }
  if (counters.open_files.has_value()) {
    out->Add(kFileDescriptors, counters.open_files->descriptors);
    out->Add(kSockets, counters.open_files->sockets);
  }
  out->Add(kUlimitsSoft, counters.max_open_files, {"max_open_files"});
}

void AddSpecMetrics(const runtime::ContainerRecord& record,
                    const runtime::ContainerCounters& counters, int64_t now, MetricWriter* out) {
  const linux::CgroupSettings& limits = counters.limits;
  out->Add(kLastSeen, SecondsOf(now));
  if (record.started_unix_nanos > 0) out->Add(kStartTime, SecondsOf(record.started_unix_nanos));
  out->Add(kSpecCpuPeriod, limits.cpu_period_us);
  out->Add(kSpecCpuQuota, Limit(limits.cpu_quota_us).value_or(0));
  out->Add(kSpecCpuShares, limits.cpu_shares);
  out->Add(kSpecMemoryLimit, Limit(limits.memory_limit_bytes));
  out->Add(kSpecMemoryReservation, Limit(counters.more.reservation_bytes));
  out->Add(kSpecMemorySwapLimit, Limit(counters.more.swap_limit_bytes).value_or(0));
}

}  // namespace plimsoll::cri
