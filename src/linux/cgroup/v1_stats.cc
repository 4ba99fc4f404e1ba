// Statistics of a cgroup v1 group.
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/v1.h"

namespace plimsoll::linux {
namespace {

absl::StatusOr<uint64_t> ReadCounter(const CgroupTree& tree, const std::string& group,
                                     absl::string_view file) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, tree.Read(group, file));
  uint64_t value = 0;
  if (absl::SimpleAtoi(text, &value)) return value;
  return absl::InternalError(absl::StrCat(tree.PathOf(group, file), ": no number: ", text));
}

absl::Status ReadCpuUsage(const CgroupTree& tree, const std::string& group, CgroupStats& stats) {
  PLIMSOLL_ASSIGN_OR_RETURN(stats.cpu_usage_ns, ReadCounter(tree, group, "cpuacct.usage"));
  return absl::OkStatus();
}

absl::Status ReadCpuThrottling(const CgroupTree& tree, const std::string& group,
                               CgroupStats& stats) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, tree.Read(group, "cpu.stat"));
  stats.cpu_periods = FindKey(text, "nr_periods").value_or(0);
  stats.cpu_throttled_periods = FindKey(text, "nr_throttled").value_or(0);
  stats.cpu_throttled_ns = FindKey(text, "throttled_time").value_or(0);
  return absl::OkStatus();
}

absl::Status ReadProcessCount(const CgroupTree& tree, const std::string& group,
                              CgroupStats& stats) {
  PLIMSOLL_ASSIGN_OR_RETURN(stats.process_count, ReadCounter(tree, group, "pids.current"));
  return absl::OkStatus();
}

// Keys with "total_" count the groups below too (Documentation/admin-guide/cgroup-v1/memory.rst).
absl::Status ReadMemory(const CgroupTree& tree, const std::string& group, CgroupStats& stats) {
  PLIMSOLL_ASSIGN_OR_RETURN(stats.memory_usage_bytes,
                            ReadCounter(tree, group, "memory.usage_in_bytes"));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text, tree.Read(group, "memory.stat"));
  const uint64_t inactive = FindKey(text, "total_inactive_file").value_or(0);
  stats.memory_working_set_bytes =
      stats.memory_usage_bytes > inactive ? stats.memory_usage_bytes - inactive : 0;
  stats.memory_rss_bytes = FindKey(text, "total_rss").value_or(0);
  stats.page_faults = FindKey(text, "total_pgfault").value_or(0);
  stats.major_page_faults = FindKey(text, "total_pgmajfault").value_or(0);
  stats.swap_usage_bytes = FindKey(text, "total_swap");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CgroupStats> CgroupV1::Stats(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  CgroupStats stats;
  bool found = false;
  // Without the group a hierarchy has none of its files either, so nothing looks for it first.
  const auto read = [&](absl::string_view controller, const auto& part) {
    const CgroupTree* tree = Find(controller);
    if (tree == nullptr) return absl::OkStatus();
    const absl::Status status = part(*tree, group, stats);
    found |= status.ok();
    return absl::IsNotFound(status) ? absl::OkStatus() : status;
  };
  PLIMSOLL_RETURN_IF_ERROR(read("cpuacct", ReadCpuUsage));
  PLIMSOLL_RETURN_IF_ERROR(read("cpu", ReadCpuThrottling));
  PLIMSOLL_RETURN_IF_ERROR(read("memory", ReadMemory));
  PLIMSOLL_RETURN_IF_ERROR(read("pids", ReadProcessCount));
  if (!found) return absl::NotFoundError(absl::StrCat("no cgroup ", group));
  // The root group has no pids.current, nor has any group without that controller.
  if (stats.process_count == 0) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto pids, Processes(group, /*recursive=*/true));
    stats.process_count = pids.size();
  }
  if (unified_ != nullptr) ReadPressure(*unified_, group, stats);
  return stats;
}

// On v1 the counter is each group's own, so those below are added. It is in memory.oom_control
// since Linux 4.13.
absl::StatusOr<uint64_t> CgroupV1::OomKills(absl::string_view path) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string group, NormalizeCgroupPath(path));
  PLIMSOLL_ASSIGN_OR_RETURN(CgroupTree * tree, Need("memory", "oom_kill"));
  PLIMSOLL_ASSIGN_OR_RETURN(const auto groups, tree->Subtree(group));
  if (groups.empty()) return absl::NotFoundError(absl::StrCat("no cgroup ", tree->PathOf(group)));
  uint64_t kills = 0;
  for (const std::string& each : groups) {
    const auto text = tree->Read(each, "memory.oom_control");
    if (absl::IsNotFound(text.status()) && each != group) continue;
    PLIMSOLL_RETURN_IF_ERROR(text.status());
    kills += FindKey(*text, "oom_kill").value_or(0);
  }
  return kills;
}

}  // namespace plimsoll::linux
