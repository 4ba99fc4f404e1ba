// All metrics that ListMetricDescriptors tells of and ListPodSandboxMetrics has values of:
// kubelet's set from cAdvisor, by the names it has there.
#ifndef PLIMSOLL_CRI_METRIC_FAMILIES_H_
#define PLIMSOLL_CRI_METRIC_FAMILIES_H_

#include <array>

namespace plimsoll::cri {

enum class MetricKind { kCounter, kGauge };
using enum MetricKind;

struct MetricFamily {
  const char* name;
  MetricKind kind;
  const char* help;
  // Behind kCommonLabels; null: no more of them.
  std::array<const char*, 4> labels = {};
};

// Whose it is. As cAdvisor has them in kubelet: the control group, the container's or sandbox's id,
// the image as the pod's author named it, and Kubernetes' names. A pod's own metrics have no image,
// and "POD" as the container.
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
    "Quota periods in which the container used its quota up and was held."};
inline constexpr MetricFamily kCpuThrottledTime{
    "container_cpu_cfs_throttled_seconds_total", kCounter,
    "Time for which the quota held the container, in whole seconds, summed over processors."};
inline constexpr MetricFamily kPressureCpuWaiting{
    "container_pressure_cpu_waiting_seconds_total", kCounter,
    "Time in which a task or more of the container waited for a processor, in whole seconds."};
inline constexpr MetricFamily kPressureCpuStalled{
    "container_pressure_cpu_stalled_seconds_total", kCounter,
    "Time in which all tasks of the container waited for a processor, in whole seconds."};
inline constexpr MetricFamily kPressureMemoryWaiting{
    "container_pressure_memory_waiting_seconds_total", kCounter,
    "Time in which a task or more of the container waited for memory, in whole seconds."};
inline constexpr MetricFamily kPressureMemoryStalled{
    "container_pressure_memory_stalled_seconds_total", kCounter,
    "Time in which all tasks of the container waited for memory, in whole seconds."};
inline constexpr MetricFamily kPressureIoWaiting{
    "container_pressure_io_waiting_seconds_total", kCounter,
    "Time in which a task or more of the container waited for I/O, in whole seconds."};
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
    "Page cache of the container that was used lately."};
inline constexpr MetricFamily kMemoryInactiveFile{
    "container_memory_total_inactive_file_bytes", kGauge,
    "Page cache of the container that was not used lately."};
inline constexpr MetricFamily kMemoryMaxUsage{
    "container_memory_max_usage_bytes", kGauge,
    "The most memory that was ever charged to the container."};
inline constexpr MetricFamily kMemoryLimitHits{
    "container_memory_failcnt", kCounter, "How often the container ran into its memory limit."};
inline constexpr MetricFamily kMemoryFailures{
    "container_memory_failures_total",
    kCounter,
    "Page faults (pgfault), and those that had to read (pgmajfault), of the container's group "
    "(scope container) and with groups below it (hierarchy).",
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
    "What the container has written to its root, in bytes on the disk.",
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
                                                 "Received packets that were dropped.",
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
    "Packets to be sent that were dropped.",
    {"interface"}};
inline constexpr MetricFamily kNetTransmitErrors{
    "container_network_transmit_errors_total", kCounter, "Errors in sending.", {"interface"}};

// --- Processes, and what was asked for (metric_groups_process.cc)

inline constexpr MetricFamily kProcesses{"container_processes", kGauge,
                                         "Processes of the container."};
inline constexpr MetricFamily kThreads{"container_threads", kGauge, "Threads of the container."};
inline constexpr MetricFamily kThreadsMax{
    "container_threads_max", kGauge,
    "How many threads the container may have; 0: as many as it likes."};
inline constexpr MetricFamily kFileDescriptors{
    "container_file_descriptors", kGauge, "Descriptors that processes of the container have open."};
inline constexpr MetricFamily kSockets{"container_sockets", kGauge,
                                       "Sockets that processes of the container have open."};
inline constexpr MetricFamily kUlimitsSoft{
    "container_ulimits_soft",
    kGauge,
    "Soft limits of the container's first process: max_open_files.",
    {"ulimit"}};
inline constexpr MetricFamily kStartTime{
    "container_start_time_seconds", kGauge,
    "When the container was started, in seconds since the Unix epoch."};
inline constexpr MetricFamily kLastSeen{"container_last_seen", kGauge,
                                        "When this was read, in seconds since the Unix epoch."};
inline constexpr MetricFamily kSpecCpuPeriod{"container_spec_cpu_period", kGauge,
                                             "Period of the CPU quota, in microseconds."};
inline constexpr MetricFamily kSpecCpuQuota{"container_spec_cpu_quota", kGauge,
                                            "CPU quota for each period, in microseconds; 0: none."};
inline constexpr MetricFamily kSpecCpuShares{"container_spec_cpu_shares", kGauge, "CPU shares."};
inline constexpr MetricFamily kSpecMemoryLimit{"container_spec_memory_limit_bytes", kGauge,
                                               "Memory limit; 0: none."};
inline constexpr MetricFamily kSpecMemoryReservation{
    "container_spec_memory_reservation_limit_bytes", kGauge,
    "Memory that is protected from reclaim, or on cgroup v1 its soft limit; 0: none."};
inline constexpr MetricFamily kSpecMemorySwapLimit{
    "container_spec_memory_swap_limit_bytes", kGauge,
    "Limit of swap, or on cgroup v1 of memory and swap together; 0: no limit, or on cgroup v2 no "
    "swap at all."};

inline constexpr std::array<const MetricFamily*, 58> kMetricFamilies = {
    &kCpuUsage,
    &kCpuUser,
    &kCpuSystem,
    &kCpuPeriods,
    &kCpuThrottledPeriods,
    &kCpuThrottledTime,
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

#endif  // PLIMSOLL_CRI_METRIC_FAMILIES_H_
