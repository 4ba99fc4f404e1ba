// What the kernel has counted for a control group beyond CgroupStats: for metrics, which are asked
// for once in a while, where statistics are asked for every few seconds and have to be cheap.
#ifndef PLIMSOLL_LINUX_CGROUP_COUNTERS_H_
#define PLIMSOLL_LINUX_CGROUP_COUNTERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "linux/block_devices.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::linux {

// What the I/O scheduler BFQ tells of one disk on cgroup v1, in a kernel with
// CONFIG_BFQ_CGROUP_DEBUG (Documentation/block/bfq-iosched.rst).
struct SchedulerIo {
  uint64_t reads_merged = 0;  // blkio.bfq.io_merged_recursive
  uint64_t writes_merged = 0;
  uint64_t read_ns = 0;  // from handing over to completion: blkio.bfq.io_service_time_recursive
  uint64_t write_ns = 0;
  uint64_t all_ns = 0;  // the total, which has discards too
  uint64_t queued = 0;  // requests that wait or are under way: blkio.bfq.io_queued_recursive
  bool operator==(const SchedulerIo&) const = default;
};

// What the controller io.cost tells of one disk in io.stat on cgroup v2, where the disk has it
// switched on (block/blk-iocost.c).
struct IoCost {
  uint64_t usage_us = 0;
  uint64_t wait_us = 0;
  uint64_t indebt_us = 0;
  uint64_t indelay_us = 0;
  bool operator==(const IoCost&) const = default;
};

// What went to and from one disk.
struct DeviceIo {
  DeviceNumber device;
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;
  uint64_t reads = 0;
  uint64_t writes = 0;
  SchedulerIo scheduler = {};  // all 0 where the kernel doesn't tell
  IoCost cost = {};            // likewise
  bool operator==(const DeviceIo&) const = default;
};

struct HugetlbUse {
  uint64_t bytes = 0;
  std::optional<uint64_t> max_bytes;  // the most there was; v1 alone tells
  bool operator==(const HugetlbUse&) const = default;
};

// Absent: this kernel doesn't tell. All count the groups below too, but for `own_page_faults`.
// cgroup v1 files are named; the v2 file follows after the slash.
struct CgroupCounters {
  // cpuacct.stat, of the clock's ticks (10 ms) / cpu.stat.
  std::optional<uint64_t> cpu_user_ns;
  std::optional<uint64_t> cpu_system_ns;
  // Periods in which it ran beyond its quota by what it had saved (cpu.cfs_burst_us,
  // cpu.max.burst), and for how long, summed over CPUs: cpu.stat of both, since Linux 5.16.
  std::optional<uint64_t> cpu_burst_periods;
  std::optional<uint64_t> cpu_burst_ns;

  // memory.stat of both.
  std::optional<uint64_t> cache_bytes;  // total_cache / file
  std::optional<uint64_t> mapped_file_bytes;
  std::optional<uint64_t> active_file_bytes;
  std::optional<uint64_t> inactive_file_bytes;
  // Of the group itself, without those below; on v2, which doesn't tell them apart, of all.
  std::optional<uint64_t> own_page_faults;
  std::optional<uint64_t> own_major_page_faults;
  // memory.kmem.usage_in_bytes / "kernel" in memory.stat (Linux 5.18).
  std::optional<uint64_t> kernel_bytes;
  // memory.max_usage_in_bytes / memory.peak (Linux 5.19).
  std::optional<uint64_t> max_usage_bytes;
  // How often it ran into its limit: memory.failcnt / "max" in memory.events.
  std::optional<uint64_t> limit_hits;
  // memory.soft_limit_in_bytes / memory.min. -1: v1 has no limit.
  std::optional<int64_t> reservation_bytes;
  // memory.memsw.limit_in_bytes, of memory and swap together / memory.swap.max. -1: no limit.
  std::optional<int64_t> swap_limit_bytes;

  std::optional<uint64_t> threads;  // pids.current

  // blkio.throttle.io_service_bytes_recursive and .io_serviced_recursive, with the scheduler's
  // counters / io.stat. Sorted.
  std::vector<DeviceIo> io;
  // By page size as the files spell it ("2MB"): hugetlb.<size>.usage_in_bytes / .current.
  std::map<std::string, HugetlbUse> hugetlb;
};

// `page_sizes`: of huge pages, "2MB". NOT_FOUND: there is no such group. Thread-safe.
absl::StatusOr<CgroupCounters> ReadCgroupCounters(const CgroupManager& cgroups,
                                                  absl::string_view path,
                                                  const std::vector<std::string>& page_sizes);

// io.stat: "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0" for each device, and where io.cost
// is on "cost.usage=5 cost.wait=0 cost.indebt=0 cost.indelay=0". What is no such line is passed
// over: the kernel gives devices without a count no words.
std::vector<DeviceIo> ParseIoStat(absl::string_view text);
// Files of cgroup v1, each with "8:0 Read 4096", "8:0 Write 0", "8:0 Total 4096" and more for each
// device, then a total of all. Empty: there is no such file.
struct BlkioFiles {
  std::string bytes;
  std::string operations;
  std::string merged;
  std::string service_time;
  std::string queued;
};
std::vector<DeviceIo> ParseBlkio(const BlkioFiles& files);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_COUNTERS_H_
