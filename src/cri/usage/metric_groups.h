// The mapping from a container's or pod's counters to metrics, group by group. A value that the
// kernel lacks is 0, as in cAdvisor: clients look for a value of each described metric. Only a
// missing controller leaves its metrics out.
#ifndef PLIMSOLL_CRI_USAGE_METRIC_GROUPS_H_
#define PLIMSOLL_CRI_USAGE_METRIC_GROUPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/disk_usage.h"
#include "cri/usage/metric_writer.h"
#include "linux/link_counters.h"
#include "runtime/counters.h"
#include "runtime/store/records.h"

namespace plimsoll::cri {

// The contract has integers for all metrics.
inline uint64_t Seconds(std::optional<uint64_t> nanoseconds) {
  return nanoseconds.value_or(0) / 1'000'000'000;
}

// Time, throttling, and the pressure of CPU, memory and I/O (metric_groups_cpu.cc).
void AddCpuMetrics(const runtime::ContainerCounters& counters, MetricWriter* out);
// metric_groups_memory.cc
void AddMemoryMetrics(const runtime::ContainerCounters& counters, MetricWriter* out);

// metric_groups_io.cc
void AddDiskIoMetrics(const runtime::ContainerCounters& counters, MetricWriter* out);
// `written`: the container's writable layer, as found at `unix_nanos`; null if unknown.
void AddFileSystemMetrics(const runtime::FileSystem& file_system, const DiskUsage* written,
                          int64_t unix_nanos, MetricWriter* out);
// For all interfaces but loopback.
void AddNetworkMetrics(const std::vector<linux::LinkCounters>& links, MetricWriter* out);

// metric_groups_process.cc
void AddProcessMetrics(const runtime::ContainerCounters& counters, MetricWriter* out);
// Requested resources, as the kernel holds them, and the start time. `now`: nanoseconds since the
// Unix epoch.
void AddSpecMetrics(const runtime::ContainerRecord& record,
                    const runtime::ContainerCounters& counters, int64_t now, MetricWriter* out);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_USAGE_METRIC_GROUPS_H_
