// All metrics that ListMetricDescriptors lists and ListPodSandboxMetrics gives: kubelet's set from
// cAdvisor, under cAdvisor's names.
#ifndef PLIMSOLL_CRI_USAGE_METRIC_FAMILIES_H_
#define PLIMSOLL_CRI_USAGE_METRIC_FAMILIES_H_

#include <array>

namespace plimsoll::cri {

enum class MetricKind { kCounter, kGauge };
using enum MetricKind;

struct MetricFamily {
  const char* name;
  MetricKind kind;
  const char* help;
  // Labels after kCommonLabels; null: no more.
  std::array<const char*, 4> labels = {};
};

// The owner's labels, as cAdvisor sets them in kubelet: the control group, the container's or
// sandbox's id, the image as the pod's author named it, and Kubernetes' names. A pod's own metrics
// have no image, and "POD" as the container.
inline constexpr std::array kCommonLabels = {"id",        "name", "image",
                                             "container", "pod",  "namespace"};

// --- CPU (metric_groups_cpu.cc)

inline constexpr MetricFamily kCpuUsage{"container_cpu_usage_seconds_total",
                                        kCounter,
                                        "Processor time used, in whole seconds; cpu is \"total\".",
                                        {"cpu"}};
inline constexpr MetricFamily kCpuUser{"container_cpu_user_seconds_total", kCounter,
                                       "Processor time used outside the kernel, in whole seconds."};
inline constexpr MetricFamily kCpuSystem{
    "container_cpu_system_seconds_total", kCounter,
    "Processor time used inside the kernel, in whole seconds."};
inline constexpr MetricFamily kCpuPeriods{"container_cpu_cfs_periods_total", kCounter,
                                          "Quota periods in which the container ran."};
inline constexpr MetricFamily kCpuThrottledPeriods{
    "container_cpu_cfs_throttled_periods_total", kCounter,
    "Quota periods in which the container was throttled."};
inline constexpr MetricFamily kCpuThrottledTime{
    "container_cpu_cfs_throttled_seconds_total", kCounter,
    "Time for which the quota throttled the container, in whole seconds, summed over processors."};
inline constexpr MetricFamily kCpuBurstPeriods{
    "container_cpu_cfs_burst_periods_total", kCounter,
    "Quota periods in which the container exceeded its quota by saved burst time."};
inline constexpr MetricFamily kCpuBurstTime{
    "container_cpu_cfs_burst_seconds_total", kCounter,
    "Time for which the container exceeded its quota, in whole seconds, summed over processors."};
// No kernel counts these per group. cAdvisor can sample them; kubelet has that switched off.
inline constexpr MetricFamily kCpuLoad{
    "container_cpu_load_average_10s", kGauge,
    "Load of the container over the last 10 seconds; always 0: not measured."};
inline constexpr MetricFamily kCpuLoadD{
    "container_cpu_load_d_average_10s", kGauge,
    "Uninterruptible tasks of the container over the last 10 seconds; always 0: not measured."};
inline constexpr MetricFamily kPressureCpuWaiting{
    "container_pressure_cpu_waiting_seconds_total", kCounter,
    "Time in which at least one task of the container waited for a processor, in whole seconds."};
inline constexpr MetricFamily kPressureCpuStalled{
    "container_pressure_cpu_stalled_seconds_total", kCounter,
    "Time in which all tasks of the container waited for a processor, in whole seconds."};
inline constexpr MetricFamily kPressureMemoryWaiting{
    "container_pressure_memory_waiting_seconds_total", kCounter,
    "Time in which at least one task of the container waited for memory, in whole seconds."};
inline constexpr MetricFamily kPressureMemoryStalled{
    "container_pressure_memory_stalled_seconds_total", kCounter,
    "Time in which all tasks of the container waited for memory, in whole seconds."};
inline constexpr MetricFamily kPressureIoWaiting{
    "container_pressure_io_waiting_seconds_total", kCounter,
    "Time in which at least one task of the container waited for I/O, in whole seconds."};
inline constexpr MetricFamily kPressureIoStalled{
    "container_pressure_io_stalled_seconds_total", kCounter,
    "Time in which all tasks of the container waited for I/O, in whole seconds."};

// --- Memory (metric_groups_memory.cc)

inline constexpr MetricFamily kMemoryUsage{"container_memory_usage_bytes", kGauge,
                                           "Memory charged to the container, caches included."};
inline constexpr MetricFamily kMemoryWorkingSet{
    "container_memory_working_set_bytes", kGauge,
    "Memory charged to the container less its inactive file pages."};
inline constexpr MetricFamily kMemoryRss{"container_memory_rss", kGauge,
                                         "Anonymous memory of the container, in bytes."};
inline constexpr MetricFamily kMemoryCache{"container_memory_cache", kGauge,
                                           "Page cache of the container, in bytes."};
inline constexpr MetricFamily kMemoryMappedFile{
    "container_memory_mapped_file", kGauge,
    "Page cache that processes of the container have mapped, in bytes."};
inline constexpr MetricFamily kMemorySwap{"container_memory_swap", kGauge,
                                          "Memory of the container that is swapped out, in bytes."};
inline constexpr MetricFamily kMemoryKernel{
    "container_memory_kernel_usage", kGauge,
    "Memory that the kernel holds for the container, in bytes."};
inline constexpr MetricFamily kMemoryActiveFile{
    "container_memory_total_active_file_bytes", kGauge,
    "Page cache on the container's active list, in bytes."};
inline constexpr MetricFamily kMemoryInactiveFile{
    "container_memory_total_inactive_file_bytes", kGauge,
    "Page cache on the container's inactive list, in bytes."};
inline constexpr MetricFamily kMemoryMaxUsage{
    "container_memory_max_usage_bytes", kGauge,
    "The most memory that was ever charged to the container."};
inline constexpr MetricFamily kMemoryLimitHits{
    "container_memory_failcnt", kCounter,
    "Number of times that the container hit its memory limit."};
inline constexpr MetricFamily kMemoryFailures{
    "container_memory_failures_total",
    kCounter,
    "Page faults (pgfault) and major page faults (pgmajfault) of the container's group, alone "
    "(scope container) or with the groups below it (scope hierarchy).",
    {"failure_type", "scope"}};
inline constexpr MetricFamily kOomEvents{
    "container_oom_events_total", kCounter,
    "Processes of the container that the OOM killer has killed."};
inline constexpr MetricFamily kHugetlbUsage{"container_hugetlb_usage_bytes",
                                            kGauge,
                                            "Huge pages charged to the container, in bytes.",
                                            {"pagesize"}};
inline constexpr MetricFamily kHugetlbMaxUsage{
    "container_hugetlb_max_usage_bytes",
    kGauge,
    "The most huge pages that were ever charged to the container, in bytes.",
    {"pagesize"}};

// --- Disks and networks (metric_groups_io.cc)

inline constexpr MetricFamily kFsUsage{
    "container_fs_usage_bytes",
    kGauge,
    "Size of the container's writable layer, in bytes on the disk.",
    {"device"}};
inline constexpr MetricFamily kFsLimit{"container_fs_limit_bytes",
                                       kGauge,
                                       "Size of the file system that the container's root is on.",
                                       {"device"}};
inline constexpr MetricFamily kFsInodes{
    "container_fs_inodes_total",
    kGauge,
    "Inodes of the file system that the container's root is on.",
    {"device"}};
inline constexpr MetricFamily kFsInodesFree{
    "container_fs_inodes_free",
    kGauge,
    "Free inodes of the file system that the container's root is on.",
    {"device"}};
inline constexpr MetricFamily kFsReads{
    "container_fs_reads_total", kCounter, "Reads that reached the disk.", {"device"}};
inline constexpr MetricFamily kFsReadBytes{
    "container_fs_reads_bytes_total", kCounter, "Bytes read from the disk.", {"device"}};
inline constexpr MetricFamily kFsWrites{
    "container_fs_writes_total", kCounter, "Writes that reached the disk.", {"device"}};
inline constexpr MetricFamily kFsWriteBytes{
    "container_fs_writes_bytes_total", kCounter, "Bytes written to the disk.", {"device"}};
// cgroup v1 counted sectors for the scheduler CFQ, which was removed in Linux 5.0.
inline constexpr MetricFamily kFsSectorReads{
    "container_fs_sector_reads_total",
    kCounter,
    "Sectors read; always 0: no kernel counts them by group.",
    {"device"}};
inline constexpr MetricFamily kFsSectorWrites{
    "container_fs_sector_writes_total",
    kCounter,
    "Sectors written; always 0: no kernel counts them by group.",
    {"device"}};
inline constexpr MetricFamily kFsReadsMerged{"container_fs_reads_merged_total",
                                             kCounter,
                                             "Reads that the I/O scheduler merged with others.",
                                             {"device"}};
inline constexpr MetricFamily kFsWritesMerged{"container_fs_writes_merged_total",
                                              kCounter,
                                              "Writes that the I/O scheduler merged with others.",
                                              {"device"}};
inline constexpr MetricFamily kFsReadTime{"container_fs_read_seconds_total",
                                          kCounter,
                                          "Time of the disk spent on reads, in whole seconds.",
                                          {"device"}};
inline constexpr MetricFamily kFsWriteTime{"container_fs_write_seconds_total",
                                           kCounter,
                                           "Time of the disk spent on writes, in whole seconds.",
                                           {"device"}};
inline constexpr MetricFamily kFsIoCurrent{
    "container_fs_io_current", kGauge, "Reads and writes that wait or are under way.", {"device"}};
inline constexpr MetricFamily kFsIoTime{
    "container_fs_io_time_seconds_total",
    kCounter,
    "Time of the disk spent on reads, writes and discards, in whole seconds.",
    {"device"}};
inline constexpr MetricFamily kFsIoTimeWeighted{
    "container_fs_io_time_weighted_seconds_total",
    kCounter,
    "Time of the disk weighted by requests under way; always 0: no kernel counts it by group.",
    {"device"}};
inline constexpr MetricFamily kFsIoCostUsage{
    "container_fs_io_cost_usage_seconds_total",
    kCounter,
    "Time of the disk that io.cost charged to the container, in whole seconds.",
    {"device"}};
inline constexpr MetricFamily kFsIoCostWait{
    "container_fs_io_cost_wait_seconds_total",
    kCounter,
    "Time in which the container waited for its share by io.cost, in whole seconds.",
    {"device"}};
inline constexpr MetricFamily kFsIoCostIndebt{
    "container_fs_io_cost_indebt_seconds_total",
    kCounter,
    "Time in which the container was in debt to io.cost, in whole seconds.",
    {"device"}};
inline constexpr MetricFamily kFsIoCostIndelay{
    "container_fs_io_cost_indelay_seconds_total",
    kCounter,
    "Time in which io.cost delayed the container because of its debt, in whole seconds.",
    {"device"}};
inline constexpr MetricFamily kBlkioUsage{"container_blkio_device_usage_total",
                                          kCounter,
                                          "Bytes read from (Read) and written to (Write) the disk.",
                                          {"device", "major", "minor", "operation"}};
inline constexpr MetricFamily kNetReceiveBytes{"container_network_receive_bytes_total",
                                               kCounter,
                                               "Bytes that the pod has received.",
                                               {"interface"}};
inline constexpr MetricFamily kNetReceivePackets{"container_network_receive_packets_total",
                                                 kCounter,
                                                 "Packets that the pod has received.",
                                                 {"interface"}};
inline constexpr MetricFamily kNetReceiveDropped{"container_network_receive_packets_dropped_total",
                                                 kCounter,
                                                 "Incoming packets that were dropped.",
                                                 {"interface"}};
inline constexpr MetricFamily kNetReceiveErrors{
    "container_network_receive_errors_total", kCounter, "Errors in receiving.", {"interface"}};
inline constexpr MetricFamily kNetTransmitBytes{"container_network_transmit_bytes_total",
                                                kCounter,
                                                "Bytes that the pod has sent.",
                                                {"interface"}};
inline constexpr MetricFamily kNetTransmitPackets{"container_network_transmit_packets_total",
                                                  kCounter,
                                                  "Packets that the pod has sent.",
                                                  {"interface"}};
inline constexpr MetricFamily kNetTransmitDropped{
    "container_network_transmit_packets_dropped_total",
    kCounter,
    "Outgoing packets that were dropped.",
    {"interface"}};
inline constexpr MetricFamily kNetTransmitErrors{
    "container_network_transmit_errors_total", kCounter, "Errors in sending.", {"interface"}};

// --- Processes, requested values (metric_groups_process.cc)

inline constexpr MetricFamily kProcesses{"container_processes", kGauge,
                                         "Processes of the container."};
inline constexpr MetricFamily kThreads{"container_threads", kGauge, "Threads of the container."};
inline constexpr MetricFamily kThreadsMax{"container_threads_max", kGauge,
                                          "Limit of the container's threads; 0: no limit."};
inline constexpr MetricFamily kTasksState{
    "container_tasks_state",
    kGauge,
    "Threads of the container by state; iowaiting is always 0, as those count as uninterruptible.",
    {"state"}};
inline constexpr MetricFamily kFileDescriptors{"container_file_descriptors", kGauge,
                                               "Open descriptors of the container's processes."};
inline constexpr MetricFamily kSockets{"container_sockets", kGauge,
                                       "Open sockets of the container's processes."};
inline constexpr MetricFamily kUlimitsSoft{
    "container_ulimits_soft",
    kGauge,
    "Soft limits of the container's first process: max_open_files.",
    {"ulimit"}};
inline constexpr MetricFamily kStartTime{
    "container_start_time_seconds", kGauge,
    "Start time of the container, in seconds since the Unix epoch."};
inline constexpr MetricFamily kLastSeen{"container_last_seen", kGauge,
                                        "Time of this reading, in seconds since the Unix epoch."};
inline constexpr MetricFamily kSpecCpuPeriod{"container_spec_cpu_period", kGauge,
                                             "Period of the CPU quota, in microseconds."};
inline constexpr MetricFamily kSpecCpuQuota{"container_spec_cpu_quota", kGauge,
                                            "CPU quota for each period, in microseconds; 0: none."};
inline constexpr MetricFamily kSpecCpuShares{"container_spec_cpu_shares", kGauge, "CPU shares."};
inline constexpr MetricFamily kSpecMemoryLimit{"container_spec_memory_limit_bytes", kGauge,
                                               "Memory limit; 0: none."};
inline constexpr MetricFamily kSpecMemoryReservation{
    "container_spec_memory_reservation_limit_bytes", kGauge,
    "Memory protected from reclaim, or on cgroup v1 the soft limit; 0: none."};
inline constexpr MetricFamily kSpecMemorySwapLimit{
    "container_spec_memory_swap_limit_bytes", kGauge,
    "Limit of swap, or on cgroup v1 of memory and swap together; 0: no limit, or on cgroup v2 "
    "also a limit of 0."};

inline constexpr std::array<const MetricFamily*, 76> kMetricFamilies = {
    &kCpuUsage,
    &kCpuUser,
    &kCpuSystem,
    &kCpuPeriods,
    &kCpuThrottledPeriods,
    &kCpuThrottledTime,
    &kCpuBurstPeriods,
    &kCpuBurstTime,
    &kCpuLoad,
    &kCpuLoadD,
    &kPressureCpuWaiting,
    &kPressureCpuStalled,
    &kPressureMemoryWaiting,
    &kPressureMemoryStalled,
    &kPressureIoWaiting,
    &kPressureIoStalled,
    &kMemoryUsage,
    &kMemoryWorkingSet,
    &kMemoryRss,
    &kMemoryCache,
    &kMemoryMappedFile,
    &kMemorySwap,
    &kMemoryKernel,
    &kMemoryActiveFile,
    &kMemoryInactiveFile,
    &kMemoryMaxUsage,
    &kMemoryLimitHits,
    &kMemoryFailures,
    &kOomEvents,
    &kHugetlbUsage,
    &kHugetlbMaxUsage,
    &kFsUsage,
    &kFsLimit,
    &kFsInodes,
    &kFsInodesFree,
    &kFsReads,
    &kFsReadBytes,
    &kFsWrites,
    &kFsWriteBytes,
    &kFsSectorReads,
    &kFsSectorWrites,
    &kFsReadsMerged,
    &kFsWritesMerged,
    &kFsReadTime,
    &kFsWriteTime,
    &kFsIoCurrent,
    &kFsIoTime,
    &kFsIoTimeWeighted,
    &kFsIoCostUsage,
    &kFsIoCostWait,
    &kFsIoCostIndebt,
    &kFsIoCostIndelay,
    &kBlkioUsage,
    &kNetReceiveBytes,
    &kNetReceivePackets,
    &kNetReceiveDropped,
    &kNetReceiveErrors,
    &kNetTransmitBytes,
    &kNetTransmitPackets,
    &kNetTransmitDropped,
    &kNetTransmitErrors,
    &kProcesses,
    &kThreads,
    &kThreadsMax,
    &kTasksState,
    &kFileDescriptors,
    &kSockets,
    &kUlimitsSoft,
    &kStartTime,
    &kLastSeen,
    &kSpecCpuPeriod,
    &kSpecCpuQuota,
    &kSpecCpuShares,
    &kSpecMemoryLimit,
    &kSpecMemoryReservation,
    &kSpecMemorySwapLimit,
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_USAGE_METRIC_FAMILIES_H_
