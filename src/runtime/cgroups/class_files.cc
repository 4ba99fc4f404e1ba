#include "runtime/cgroups/class_files.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/files.h"

namespace plimsoll::runtime {
namespace {

// "2MB" of "hugetlb.2MB.max"; empty for other files.
absl::string_view HugePageSize(absl::string_view file) {
  return absl::ConsumePrefix(&file, "hugetlb.") && absl::ConsumeSuffix(&file, ".max")
             ? file
             : absl::string_view();
}

std::optional<std::string> Limit(const std::optional<int64_t>& value) {
  if (!value.has_value()) return std::nullopt;
  return linux::FormatLimit(*value);
}

// memory.swap.max counts swap alone; the client's limit counts memory and swap together.
std::optional<std::string> SwapMax(const linux::CgroupSettings& settings) {
  if (!settings.memory_swap_limit_bytes.has_value()) return std::nullopt;
  const int64_t both = *settings.memory_swap_limit_bytes;
  const int64_t memory = settings.memory_limit_bytes.value_or(-1);
  if (both < 0) return linux::FormatLimit(-1);
  return linux::FormatLimit(memory < 0 || memory > both ? 0 : both - memory);
}

std::optional<std::string> CpuMax(const linux::CgroupSettings& settings) {
  if (!settings.cpu_quota_us.has_value() && !settings.cpu_period_us.has_value()) {
    return std::nullopt;
  }
  const int64_t quota = settings.cpu_quota_us.value_or(-1);
  return absl::StrCat(linux::FormatLimit(quota <= 0 ? -1 : quota), " ",
                      settings.cpu_period_us.value_or(100000));
}

}  // namespace

std::vector<std::string> ClassFilesOf(const qos::Registry* classes, const std::string& id) {
  return classes == nullptr ? std::vector<std::string>() : classes->OwnedFiles(id);
}

void LeaveOut(const std::vector<std::string>& files, linux::CgroupSettings* settings) {
  for (const std::string& file : files) {
    settings->unified.erase(file);
    if (file == "cpu.weight") settings->cpu_shares.reset();
    if (file == "cpu.max") {
      settings->cpu_quota_us.reset();
      settings->cpu_period_us.reset();
    }
    if (file == "cpuset.cpus") settings->cpuset_cpus.reset();
    if (file == "cpuset.mems") settings->cpuset_mems.reset();
    if (file == "memory.max") settings->memory_limit_bytes.reset();
    if (file == "memory.swap.max") settings->memory_swap_limit_bytes.reset();
    if (file == "pids.max") settings->pids_limit.reset();
    settings->hugetlb_limits.erase(std::string(HugePageSize(file)));
  }
}

std::optional<std::string> AskedValue(const linux::CgroupSettings& settings, int oom_score_adj,
                                      absl::string_view file) {
  if (file == "oom_score_adj") return absl::StrCat(oom_score_adj);
  if (const auto raw = settings.unified.find(std::string(file)); raw != settings.unified.end()) {
    return raw->second;
  }
  if (file == "cpu.weight") {
    if (!settings.cpu_shares.has_value()) return std::nullopt;
    return absl::StrCat(linux::CpuSharesToWeight(*settings.cpu_shares));
  }
  if (file == "cpu.max") return CpuMax(settings);
  if (file == "cpuset.cpus") return settings.cpuset_cpus;
  if (file == "cpuset.mems") return settings.cpuset_mems;
  if (file == "memory.max") return Limit(settings.memory_limit_bytes);
  if (file == "memory.swap.max") return SwapMax(settings);
  if (file == "pids.max") return Limit(settings.pids_limit);
  const auto huge = settings.hugetlb_limits.find(std::string(HugePageSize(file)));
  if (huge == settings.hugetlb_limits.end()) return std::nullopt;
  return absl::StrCat(huge->second);
}

}  // namespace plimsoll::runtime
