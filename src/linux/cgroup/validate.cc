#include "linux/cgroup/validate.h"

#include <tuple>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status.h"

namespace plimsoll::linux {
namespace {

absl::Status Wrong(absl::string_view field, absl::string_view value, absl::string_view valid) {
  return absl::InvalidArgumentError(absl::StrCat(field, " ", value, ": must be ", valid));
}

absl::Status ValidateCpu(const CgroupSettings& settings) {
  const auto& [shares, quota, period] =
      std::tie(settings.cpu_shares, settings.cpu_quota_us, settings.cpu_period_us);
  if (shares.has_value() && (*shares < 2 || *shares > 262144)) {
    return Wrong("cpu_shares", absl::StrCat(*shares), "2 to 262144");
  }
  // The kernel's least quota is 1 ms (min_cfs_quota_period).
  if (quota.has_value() && *quota != -1 && *quota < 1000) {
    return Wrong("cpu_quota", absl::StrCat(*quota), "at least 1000 microseconds, or -1 for none");
  }
  if (period.has_value() && (*period < 1000 || *period > 1000000)) {
    return Wrong("cpu_period", absl::StrCat(*period), "1000 to 1000000 microseconds");
  }
  return absl::OkStatus();
}

absl::Status ValidateMemory(const CgroupSettings& settings) {
  const auto& memory = settings.memory_limit_bytes;
  const auto& swap = settings.memory_swap_limit_bytes;
  if (memory.has_value() && *memory != -1 && *memory <= 0) {
    return Wrong("memory_limit", absl::StrCat(*memory), "a number of bytes, or -1 for no limit");
  }
  if (swap.has_value() && *swap != -1 && *swap <= 0) {
    return Wrong("memory_swap_limit", absl::StrCat(*swap),
                 "a number of bytes (memory and swap together), or -1 for no limit");
  }
  if (!memory.has_value() || !swap.has_value() || *swap == -1) return absl::OkStatus();
  if (*memory == -1 || *swap < *memory) {
    return Wrong("memory_swap_limit", absl::StrCat(*swap),
                 absl::StrCat("at least memory_limit (", *memory,
                              "), because it counts memory and swap together"));
  }
  return absl::OkStatus();
}

// A raw file may set any resource, but not shape the tree.
absl::Status ValidateUnified(const CgroupSettings& settings) {
  for (const auto& [name, value] : settings.unified) {
    const size_t dot = name.find('.');
    if (dot == 0 || dot == std::string::npos || dot + 1 == name.size() ||
        absl::StrContains(name, '/') || absl::StrContains(name, '\0') ||
        absl::StartsWith(name, "cgroup.")) {
      return Wrong("unified", absl::StrCat("\"", name, "\""),
                   "the name of a controller's file, as \"memory.high\"");
    }
    if (absl::StripAsciiWhitespace(value).empty()) {
      return Wrong("unified", absl::StrCat("\"", name, "\""), "given a value");
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsCpuList(absl::string_view text) {
  if (text.empty()) return true;
  for (absl::string_view range : absl::StrSplit(text, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(range, '-');
    uint32_t first = 0;
    uint32_t last = 0;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
        !absl::SimpleAtoi(ends.back(), &last) || last < first ||
        !absl::ascii_isdigit(static_cast<unsigned char>(range.front())) ||
        !absl::ascii_isdigit(static_cast<unsigned char>(range.back()))) {
      return false;
    }
  }
  return true;
}

absl::Status ValidateSettings(const CgroupSettings& settings) {
  PLIMSOLL_RETURN_IF_ERROR(ValidateCpu(settings));
  PLIMSOLL_RETURN_IF_ERROR(ValidateMemory(settings));
  if (settings.cpuset_cpus.has_value() && !IsCpuList(*settings.cpuset_cpus)) {
    return Wrong("cpuset_cpus", absl::StrCat("\"", *settings.cpuset_cpus, "\""),
                 "a list as \"0-3,8\"");
  }
  if (settings.cpuset_mems.has_value() && !IsCpuList(*settings.cpuset_mems)) {
    return Wrong("cpuset_mems", absl::StrCat("\"", *settings.cpuset_mems, "\""),
                 "a list as \"0-1\"");
  }
  if (settings.pids_limit.has_value() && *settings.pids_limit != -1 && *settings.pids_limit <= 0) {
    return Wrong("pids_limit", absl::StrCat(*settings.pids_limit),
                 "a positive number, or -1 for no limit");
  }
  for (const auto& [size, bytes] : settings.hugetlb_limits) {
    if (size.empty() || absl::StrContains(size, '/') || absl::StrContains(size, '.')) {
      return Wrong("hugepage size", absl::StrCat("\"", size, "\""),
                   "spelt as the kernel does, \"2MB\" or \"1GB\"");
    }
  }
  return ValidateUnified(settings);
}

}  // namespace plimsoll::linux
