#include "cri/usage/metric_groups.h"

namespace plimsoll::cri {
namespace {

void AddPressure(const std::optional<linux::Pressure>& pressure, const MetricFamily& waiting,
                 const MetricFamily& stalled, MetricWriter* out) {
  const linux::Pressure told = pressure.value_or(linux::Pressure());
  out->Add(waiting, told.some.total_us / 1'000'000);
  out->Add(stalled, told.full.total_us / 1'000'000);
}

}  // namespace

void AddCpuMetrics(const runtime::ContainerCounters& counters, MetricWriter* out) {
  const linux::CgroupStats& stats = counters.stats;
  out->Add(kCpuUsage, Seconds(stats.cpu_usage_ns), {"total"});
  out->Add(kCpuUser, Seconds(counters.more.cpu_user_ns));
  out->Add(kCpuSystem, Seconds(counters.more.cpu_system_ns));
  out->Add(kCpuPeriods, stats.cpu_periods);
  out->Add(kCpuThrottledPeriods, stats.cpu_throttled_periods);
  out->Add(kCpuThrottledTime, Seconds(stats.cpu_throttled_ns));
  out->Add(kCpuBurstPeriods, counters.more.cpu_burst_periods.value_or(0));
  out->Add(kCpuBurstTime, Seconds(counters.more.cpu_burst_ns));
  out->Add(kCpuLoad, 0);
  out->Add(kCpuLoadD, 0);
  AddPressure(stats.cpu_pressure, kPressureCpuWaiting, kPressureCpuStalled, out);
  AddPressure(stats.memory_pressure, kPressureMemoryWaiting, kPressureMemoryStalled, out);
  AddPressure(stats.io_pressure, kPressureIoWaiting, kPressureIoStalled, out);
}

}  // namespace plimsoll::cri
