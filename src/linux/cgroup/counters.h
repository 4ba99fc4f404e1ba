// A control group's counters beyond CgroupStats. They are for metrics, which are read once in a
// while; CgroupStats is read every few seconds and has to be cheap.
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

// The I/O scheduler BFQ's counters for one disk on cgroup v1, in a kernel with
// CONFIG_BFQ_CGROUP_DEBUG (Documentation/block/bfq-iosched.rst).
struct SchedulerIo {
  uint64_t reads_merged = 0;  // blkio.bfq.io_merged_recursive
  uint64_t writes_merged = 0;
  uint64_t read_ns = 0;  // from dispatch to completion: blkio.bfq.io_service_time_recursive
  uint64_t write_ns = 0;
  uint64_t all_ns = 0;  // the total, discards included
  uint64_t queued = 0;  // requests waiting or under way: blkio.bfq.io_queued_recursive
  bool operator==(const SchedulerIo&) const = default;
};

// The io.cost controller's counters for one disk, in io.stat of cgroup v2 where the disk has
// io.cost enabled (block/blk-iocost.c).
struct IoCost {
  uint64_t usage_us = 0;
  uint64_t wait_us = 0;
  uint64_t indebt_us = 0;
  uint64_t indelay_us = 0;
  bool operator==(const IoCost&) const = default;
};

// I/O of one disk.
struct DeviceIo {
  DeviceNumber device;
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;
  uint64_t reads = 0;
  uint64_t writes = 0;
  SchedulerIo scheduler = {};  // all 0 where the kernel has none
  IoCost cost = {};            // likewise
  bool operator==(const DeviceIo&) const = default;
};

struct HugetlbUse {
  uint64_t bytes = 0;
  std::optional<uint64_t> max_bytes;  // the highest so far; v1 only
  bool operator==(const HugetlbUse&) const = default;
};

// A value is absent where the kernel has none. All include the groups below, except
// `own_page_faults` and `own_major_page_faults`. cgroup v1 files are named; the v2 file follows
// after the slash.
struct CgroupCounters {
  // cpuacct.stat, in clock ticks (10 ms) / cpu.stat.
  std::optional<uint64_t> cpu_user_ns;
  std::optional<uint64_t> cpu_system_ns;
  // Periods in which it used saved quota to run beyond its own (cpu.cfs_burst_us, cpu.max.burst),
  // and for how long, summed over CPUs: cpu.stat of both, since Linux 5.16.
  std::optional<uint64_t> cpu_burst_periods;
  std::optional<uint64_t> cpu_burst_ns;

  // memory.stat of both.
  std::optional<uint64_t> cache_bytes;  // total_cache / file
  std::optional<uint64_t> mapped_file_bytes;
  std::optional<uint64_t> active_file_bytes;
  std::optional<uint64_t> inactive_file_bytes;
  // Faults of the group alone; on v2, which has only the sum, of the groups below too.
  std::optional<uint64_t> own_page_faults;
  std::optional<uint64_t> own_major_page_faults;
  // memory.kmem.usage_in_bytes / "kernel" in memory.stat (Linux 5.18).
  std::optional<uint64_t> kernel_bytes;
  // memory.max_usage_in_bytes / memory.peak (Linux 5.19).
  std::optional<uint64_t> max_usage_bytes;
  // Number of times that it hit its limit: memory.failcnt / "max" in memory.events.
  std::optional<uint64_t> limit_hits;
  // memory.soft_limit_in_bytes / memory.min. -1: v1 has no limit.
  std::optional<int64_t> reservation_bytes;
  // memory.memsw.limit_in_bytes, of memory and swap together / memory.swap.max. -1: no limit.
  std::optional<int64_t> swap_limit_bytes;

  std::optional<uint64_t> threads;  // pids.current

  // Sorted. blkio.throttle.io_service_bytes_recursive and .io_serviced_recursive, with the
  // scheduler's counters / io.stat.
  std::vector<DeviceIo> io;
  // By page size as the files spell it ("2MB"): hugetlb.<size>.usage_in_bytes / .current.
  std::map<std::string, HugetlbUse> hugetlb;
};

// `page_sizes`: of huge pages, "2MB". NOT_FOUND if the group doesn't exist. Thread-safe.
absl::StatusOr<CgroupCounters> ReadCgroupCounters(const CgroupManager& cgroups,
                                                  absl::string_view path,
                                                  const std::vector<std::string>& page_sizes);

// Parses io.stat: "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0" for each device, and where
// io.cost is on "cost.usage=5 cost.wait=0 cost.indebt=0 cost.indelay=0". Skips other lines: a
// device without counts has no words.
std::vector<DeviceIo> ParseIoStat(absl::string_view text);
// Files of cgroup v1, each with "8:0 Read 4096", "8:0 Write 0", "8:0 Total 4096" and more for each
// device, then a total of all. Empty: the file doesn't exist.
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
