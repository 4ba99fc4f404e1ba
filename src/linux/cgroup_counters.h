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
#include "linux/cgroup.h"

namespace plimsoll::linux {

// What went to and from one disk.
struct DeviceIo {
  DeviceNumber device;
  uint64_t read_bytes = 0;
  uint64_t write_bytes = 0;
  uint64_t reads = 0;
  uint64_t writes = 0;
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

  // blkio.throttle.io_service_bytes_recursive and .io_serviced_recursive / io.stat. Sorted.
  std::vector<DeviceIo> io;
  // By page size as the files spell it ("2MB"): hugetlb.<size>.usage_in_bytes / .current.
  std::map<std::string, HugetlbUse> hugetlb;
};

// `page_sizes`: of huge pages, "2MB". NOT_FOUND: there is no such group. Thread-safe.
absl::StatusOr<CgroupCounters> ReadCgroupCounters(const CgroupManager& cgroups,
                                                  absl::string_view path,
                                                  const std::vector<std::string>& page_sizes);

// io.stat: "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0" for each device. What is no such
// line is passed over: the kernel gives devices without a count no words.
std::vector<DeviceIo> ParseIoStat(absl::string_view text);
// The two files of cgroup v1: "8:0 Read 4096", "8:0 Write 0" and more for each device, then a
// total.
std::vector<DeviceIo> ParseThrottleIo(absl::string_view bytes, absl::string_view operations);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_COUNTERS_H_
