#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nri/messages/messages.h"
#include "qos/class_type.h"
#include "resources/cpu_set.h"

namespace plimsoll::nri {
namespace {

// kernel/sched/sched.h, MAX_BW: 44 bits of microseconds.
constexpr int64_t kMostQuotaUs = (int64_t{1} << 44) - 1;
// The kernel's limit for a list of CPUs depends on its build: a longer list is written in its
// shortest form.
constexpr size_t kLongList = 256;

std::string FieldName(absl::string_view member) {
  return absl::StrCat("linux.resources.", member);
}

absl::Status Wrong(absl::string_view member, absl::string_view value, absl::string_view rule) {
  return absl::InvalidArgumentError(absl::StrCat(
      FieldName(member), " is \"", absl::CHexEscape(value.substr(0, 128)), "\": must be ", rule));
}

template <typename Number>
absl::Status CheckRange(absl::string_view member, Number value, Number lowest, Number highest,
                        absl::string_view rule) {
  if (value >= lowest && value <= highest) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(FieldName(member), " is ", value, ": must be ", rule));
}

absl::Status OnlyAtCreation(absl::string_view member) {
  return absl::UnimplementedError(absl::StrCat(
      FieldName(member), " can be set when a container is made, but not changed later"));
}

// Members of these messages that are 0 count as absent, as OCI runtimes take them.
template <typename Optional>
bool IsGiven(bool has, const Optional& member) {
  return has && member.value() != 0;
}

absl::Status ReadCpuTime(const api::LinuxCPU& cpu, linux::CgroupSettings* settings) {
  if (IsGiven(cpu.has_shares(), cpu.shares())) {
    const uint64_t shares = cpu.shares().value();
    PLIMSOLL_RETURN_IF_ERROR(
        CheckRange<uint64_t>("cpu.shares", shares, 2, 262144, "from 2 to 262144"));
    settings->cpu_shares = shares;
  }
  if (IsGiven(cpu.has_quota(), cpu.quota())) {
    const int64_t quota = cpu.quota().value();
    if (quota != -1) {
      PLIMSOLL_RETURN_IF_ERROR(
          CheckRange<int64_t>("cpu.quota", quota, 1000, kMostQuotaUs,
                              "from 1000 to 17592186044415 microseconds, or -1 for no limit"));
    }
    settings->cpu_quota_us = quota;
  }
  if (IsGiven(cpu.has_period(), cpu.period())) {
    const uint64_t period = cpu.period().value();
    PLIMSOLL_RETURN_IF_ERROR(CheckRange<uint64_t>("cpu.period", period, 1000, 1000000,
                                                  "from 1000 to 1000000 microseconds"));
    settings->cpu_period_us = period;
  }
  return absl::OkStatus();
}

absl::Status ReadRealtime(const api::LinuxCPU& cpu, runtime::RealtimeCpu* realtime) {
  if (cpu.has_realtime_runtime()) {
    const int64_t time = cpu.realtime_runtime().value();
    if (realtime == nullptr) return OnlyAtCreation("cpu.realtime_runtime");
    PLIMSOLL_RETURN_IF_ERROR(CheckRange<int64_t>("cpu.realtime_runtime", time, -1, kMostQuotaUs,
                                                 "microseconds, or -1 for no limit"));
    realtime->runtime_us = time;
  }
  if (IsGiven(cpu.has_realtime_period(), cpu.realtime_period())) {
    const uint64_t period = cpu.realtime_period().value();
    if (realtime == nullptr) return OnlyAtCreation("cpu.realtime_period");
    PLIMSOLL_RETURN_IF_ERROR(CheckRange<uint64_t>("cpu.realtime_period", period, 1, INT32_MAX,
                                                  "from 1 to 2147483647 microseconds"));
    realtime->period_us = period;
  }
  return absl::OkStatus();
}

absl::Status ReadCpuList(absl::string_view member, const std::string& text,
                         std::optional<std::string>* out) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<resources::CpuSet> set = resources::CpuSet::Parse(text);
  if (!set.ok() || set->Empty()) return Wrong(member, text, "a list such as \"0-3,8\"");
  *out = text.size() <= kLongList ? text : set->ToString();
  return absl::OkStatus();
}

absl::Status ReadCpu(const api::LinuxCPU& cpu, const ResourceTarget& target) {
  linux::CgroupSettings* settings = target.settings;
  PLIMSOLL_RETURN_IF_ERROR(ReadCpuTime(cpu, settings));
  PLIMSOLL_RETURN_IF_ERROR(ReadRealtime(cpu, target.realtime));
  PLIMSOLL_RETURN_IF_ERROR(ReadCpuList("cpu.cpus", cpu.cpus(), &settings->cpuset_cpus));
  return ReadCpuList("cpu.mems", cpu.mems(), &settings->cpuset_mems);
}

// A limit counts memory and swap together. One that isn't given keeps its swap part.
std::optional<int64_t> SwapFor(std::optional<int64_t> swap, std::optional<int64_t> old_limit,
                               int64_t limit) {
  if (!swap || *swap == -1) return swap;
  if (limit == -1) return -1;
  const int64_t part = std::max<int64_t>(0, *swap - std::max<int64_t>(0, old_limit.value_or(0)));
  return part > INT64_MAX - limit ? INT64_MAX : limit + part;
}

absl::Status ReadMemoryLimits(const api::LinuxMemory& memory, linux::CgroupSettings* settings) {
  constexpr absl::string_view kRule = "a number of bytes, or -1 for no limit";
  const bool has_swap = IsGiven(memory.has_swap(), memory.swap());
  if (IsGiven(memory.has_limit(), memory.limit())) {
    const int64_t limit = memory.limit().value();
    PLIMSOLL_RETURN_IF_ERROR(CheckRange<int64_t>("memory.limit", limit, -1, INT64_MAX, kRule));
    if (!has_swap) {
      settings->memory_swap_limit_bytes =
          SwapFor(settings->memory_swap_limit_bytes, settings->memory_limit_bytes, limit);
    }
    settings->memory_limit_bytes = limit;
  }
  if (!has_swap) return absl::OkStatus();
  const int64_t swap = memory.swap().value();
  PLIMSOLL_RETURN_IF_ERROR(CheckRange<int64_t>("memory.swap", swap, -1, INT64_MAX, kRule));
  const std::optional<int64_t>& limit = settings->memory_limit_bytes;
  if (limit && swap != -1 && (*limit == -1 || swap < *limit)) {
    return Wrong("memory.swap", absl::StrCat(swap),
                 absl::StrCat("at least memory.limit, ", *limit,
                              ", since it counts memory and swap together"));
  }
  settings->memory_swap_limit_bytes = swap;
  return absl::OkStatus();
}

absl::Status ReadMoreMemory(const api::LinuxMemory& memory, runtime::MoreMemory* more) {
  runtime::MoreMemory nowhere;
  runtime::MoreMemory* out = more != nullptr ? more : &nowhere;
  const auto bytes = [&](absl::string_view member, bool has, const api::OptionalInt64& value,
                         std::optional<int64_t>* to) -> absl::Status {
    if (!IsGiven(has, value)) return absl::OkStatus();
    if (more == nullptr) return OnlyAtCreation(member);
    *to = value.value();
    return CheckRange<int64_t>(member, value.value(), -1, INT64_MAX,
                               "a number of bytes, or -1 for no limit");
  };
  PLIMSOLL_RETURN_IF_ERROR(bytes("memory.reservation", memory.has_reservation(),
                                 memory.reservation(), &out->reservation_bytes));
  PLIMSOLL_RETURN_IF_ERROR(
      bytes("memory.kernel", memory.has_kernel(), memory.kernel(), &out->kernel_bytes));
  PLIMSOLL_RETURN_IF_ERROR(bytes("memory.kernel_tcp", memory.has_kernel_tcp(), memory.kernel_tcp(),
                                 &out->kernel_tcp_bytes));
  if (memory.has_swappiness()) {
    if (more == nullptr) return OnlyAtCreation("memory.swappiness");
    const uint64_t swappiness = memory.swappiness().value();
    PLIMSOLL_RETURN_IF_ERROR(
        CheckRange<uint64_t>("memory.swappiness", swappiness, 0, 100, "from 0 to 100"));
    out->swappiness = swappiness;
  }
  if (memory.has_disable_oom_killer()) {
    if (more == nullptr) return OnlyAtCreation("memory.disable_oom_killer");
    out->disable_oom_killer = memory.disable_oom_killer().value();
  }
  if (memory.has_use_hierarchy()) {
    if (more == nullptr) return OnlyAtCreation("memory.use_hierarchy");
    out->use_hierarchy = memory.use_hierarchy().value();
  }
  return absl::OkStatus();
}

// "2MB", "1GB", "64KB": digits and a unit, as in the kernel's file names.
bool IsPageSize(absl::string_view text) {
  if (text.size() < 3 || text.size() > 16 || text[0] == '0') return false;
  const absl::string_view unit = text.substr(text.size() - 2);
  const absl::string_view digits = text.substr(0, text.size() - 2);
  return (unit == "KB" || unit == "MB" || unit == "GB") &&
         std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
}

absl::Status ReadHugepages(const api::LinuxResources& resources, linux::CgroupSettings* settings) {
  std::map<std::string, uint64_t> limits;
  for (const api::HugepageLimit& limit : resources.hugepage_limits()) {
    constexpr absl::string_view kMember = "hugepage_limits.page_size";
    if (!IsPageSize(limit.page_size())) {
      return Wrong(kMember, limit.page_size(), "a size such as \"2MB\" or \"1GB\"");
    }
    if (!limits.emplace(limit.page_size(), limit.limit()).second) {
      return Wrong(kMember, limit.page_size(), "given once");
    }
  }
  for (const auto& [size, bytes] : limits) settings->hugetlb_limits[size] = bytes;
  return absl::OkStatus();
}

absl::Status ReadUnified(const api::LinuxResources& resources, linux::CgroupSettings* settings) {
  for (const auto& [file, value] : resources.unified()) {
    const size_t dot = file.find('.');
    // Everything under "cgroup." moves processes or changes the tree itself.
    if (dot == 0 || dot == std::string::npos || dot + 1 == file.size() || file.size() > 255 ||
        absl::StrContains(file, '/') || absl::StrContains(file, '\0') ||
        absl::StartsWith(file, "cgroup.")) {
      return Wrong("unified", file, "a controller's file such as \"memory.high\"");
    }
    if (absl::StripAsciiWhitespace(value).empty()) {
      return Wrong(absl::StrCat("unified[", file, "]"), value, "the file's new value");
    }
    settings->unified[file] = value;
  }
  return absl::OkStatus();
}

absl::Status ReadPids(const api::LinuxPids& pids, linux::CgroupSettings* settings) {
  if (pids.limit() == 0) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(CheckRange<int64_t>("pids.limit", pids.limit(), -1, INT32_MAX,
                                               "a number of processes, or -1 for no limit"));
  settings->pids_limit = pids.limit();
  return absl::OkStatus();
}

void FillCpu(const linux::CgroupSettings& settings, api::LinuxCPU* out) {
  if (settings.cpu_shares) out->mutable_shares()->set_value(*settings.cpu_shares);
  if (settings.cpu_quota_us) out->mutable_quota()->set_value(*settings.cpu_quota_us);
  if (settings.cpu_period_us) out->mutable_period()->set_value(*settings.cpu_period_us);
  out->set_cpus(settings.cpuset_cpus.value_or(""));
  out->set_mems(settings.cpuset_mems.value_or(""));
}

}  // namespace

absl::Status ReadResources(const api::LinuxResources& resources, const ResourceTarget& target) {
  linux::CgroupSettings settings = *target.settings;
  runtime::MoreMemory more = target.more != nullptr ? *target.more : runtime::MoreMemory();
  runtime::RealtimeCpu realtime =
      target.realtime != nullptr ? *target.realtime : runtime::RealtimeCpu();
  const ResourceTarget copies{&settings, nullptr, target.more != nullptr ? &more : nullptr,
                              target.realtime != nullptr ? &realtime : nullptr};
  PLIMSOLL_RETURN_IF_ERROR(ReadCpu(resources.cpu(), copies));
  PLIMSOLL_RETURN_IF_ERROR(ReadMemoryLimits(resources.memory(), &settings));
  PLIMSOLL_RETURN_IF_ERROR(ReadMoreMemory(resources.memory(), copies.more));
  PLIMSOLL_RETURN_IF_ERROR(ReadHugepages(resources, &settings));
  PLIMSOLL_RETURN_IF_ERROR(ReadUnified(resources, &settings));
  PLIMSOLL_RETURN_IF_ERROR(ReadPids(resources.pids(), &settings));
  if (!resources.devices().empty()) {
    return absl::UnimplementedError(
        absl::StrCat(FieldName("devices"),
                     " can't be changed by itself: a device in linux.devices brings its rule"));
  }
  if (resources.has_blockio_class()) {
    (*target.classes)[qos::kBlockio] = resources.blockio_class().value();
  }
  if (resources.has_rdt_class()) (*target.classes)[qos::kRdt] = resources.rdt_class().value();
  *target.settings = std::move(settings);
  if (target.more != nullptr) *target.more = more;
  if (target.realtime != nullptr) *target.realtime = realtime;
  return absl::OkStatus();
}

api::LinuxResources MakeResources(const linux::CgroupSettings& settings,
                                  const qos::ClassNames& classes) {
  api::LinuxResources resources;
  // Plugins in Go read members of these two without asking whether they are there.
  FillCpu(settings, resources.mutable_cpu());
  api::LinuxMemory* memory = resources.mutable_memory();
  if (settings.memory_limit_bytes) {
    memory->mutable_limit()->set_value(*settings.memory_limit_bytes);
  }
  if (settings.memory_swap_limit_bytes) {
    memory->mutable_swap()->set_value(*settings.memory_swap_limit_bytes);
  }
  for (const auto& [size, bytes] : settings.hugetlb_limits) {
    api::HugepageLimit* limit = resources.add_hugepage_limits();
    limit->set_page_size(size);
    limit->set_limit(bytes);
  }
  for (const auto& [file, value] : settings.unified) (*resources.mutable_unified())[file] = value;
  if (settings.pids_limit) resources.mutable_pids()->set_limit(*settings.pids_limit);
  const auto name_of = [&](const char* type) -> const std::string* {
    const auto found = classes.find(type);
    return found != classes.end() ? &found->second : nullptr;
  };
  if (const std::string* name = name_of(qos::kBlockio)) {
    resources.mutable_blockio_class()->set_value(*name);
  }
  if (const std::string* name = name_of(qos::kRdt)) resources.mutable_rdt_class()->set_value(*name);
  return resources;
}

}  // namespace plimsoll::nri
