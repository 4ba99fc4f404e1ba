// The limits of one control group, in the units of the CRI and of cgroup v1.
#ifndef PLIMSOLL_LINUX_CGROUP_SETTINGS_H_
#define PLIMSOLL_LINUX_CGROUP_SETTINGS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace plimsoll::linux {

// An absent member keeps the kernel's value when applied; when read back, it means that the kernel
// has no such file or readable limit. cgroup v1 files are named; the v2 file follows after the
// slash.
struct CgroupSettings {
  // cpu.shares / cpu.weight by the linear formula (cpu_weight.h). 2 to 262144. One weight stands
  // for many shares, and reading returns the least of them: compare through CpuSharesToWeight.
  std::optional<uint64_t> cpu_shares;
  // cpu.cfs_quota_us / first word of cpu.max. Microseconds per period, 1000 or more; -1: no limit.
  std::optional<int64_t> cpu_quota_us;
  // cpu.cfs_period_us / second word of cpu.max. 1000 to 1000000.
  std::optional<uint64_t> cpu_period_us;
  // cpuset.cpus, cpuset.mems. Kernel list format, "0-3,8". Empty: the parent's.
  std::optional<std::string> cpuset_cpus;
  std::optional<std::string> cpuset_mems;
  // memory.limit_in_bytes / memory.max. -1: no limit.
  std::optional<int64_t> memory_limit_bytes;
  // Memory plus swap: memory.memsw.limit_in_bytes / memory.swap.max (which counts swap alone). -1:
  // no limit. If it is absent and the memory limit is raised past it, the swap part stays the same.
  // Where the kernel does not account swap, only -1 and the memory limit are accepted.
  std::optional<int64_t> memory_swap_limit_bytes;
  // pids.max. -1: no limit.
  std::optional<int64_t> pids_limit;
  // Page size as the kernel's files spell it ("2MB", "1GB") -> bytes.
  // hugetlb.<size>.limit_in_bytes / hugetlb.<size>.max.
  std::map<std::string, uint64_t> hugetlb_limits;
  // Raw cgroup v2 files of the group: name -> value, with a line per device where the file has
  // such. Never "cgroup.*". Ignored on v1; not read back.
  std::map<std::string, std::string> unified;

  bool operator==(const CgroupSettings&) const = default;
};

// Overwrites the members of `settings` that `update` has.
void MergeInto(const CgroupSettings& update, CgroupSettings* settings);

}  // namespace plimsoll::linux

#endif  // PLIMSOLL_LINUX_CGROUP_SETTINGS_H_
