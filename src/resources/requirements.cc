#include "resources/requirements.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"

namespace plimsoll::resources {
namespace {

constexpr absl::string_view kCpu = "cpu";
constexpr absl::string_view kMemory = "memory";
constexpr absl::string_view kHugepages = "hugepages-";

constexpr int kGuaranteedOomScore = -997;
constexpr int kBestEffortOomScore = 1000;

const Quantity* Find(const ResourceList& list, absl::string_view name) {
  const auto it = list.find(std::string(name));
  return it == list.end() ? nullptr : &it->second;
}

int64_t MemoryRequest(const Requirements& requirements) {
  const Quantity* request = Find(requirements.requests, kMemory);
  return request == nullptr ? 0 : request->Value();
}

// part / whole * total, without overflow.
int64_t Proportion(int64_t part, int64_t whole, int64_t total) {
  return whole <= 0 ? 0 : static_cast<int64_t>(static_cast<absl::int128>(part) * total / whole);
}

absl::StatusOr<int64_t> HugepageBytes(absl::string_view resource) {
  absl::string_view size = resource;
  if (!absl::ConsumePrefix(&size, kHugepages)) {
    return absl::InvalidArgumentError(
        absl::StrCat("resource \"", resource, "\" is no hugepage resource like hugepages-2Mi"));
  }
  absl::StatusOr<Quantity> quantity = Quantity::Parse(size);
  if (!quantity.ok()) return Annotate(quantity.status(), absl::StrCat("resource ", resource));
  const int64_t bytes = quantity->Value();
  if (bytes < 1024 || !std::has_single_bit(static_cast<uint64_t>(bytes))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "resource \"", resource, "\": a page size is a power of two, for example hugepages-2Mi"));
  }
  return bytes;
}

absl::Status ValidateHugepages(const std::string& name, const Quantity* request,
                               const Quantity& limit) {
  PLIMSOLL_ASSIGN_OR_RETURN(const int64_t page, HugepageBytes(name));
  if (request != nullptr && *request != limit) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": the request ", request->text(),
                                                   " must equal the limit ", limit.text(),
                                                   ": huge pages can't be overcommitted"));
  }
  if (limit.Value() % page != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": the limit ", limit.text(), " is no multiple of the page size"));
  }
  return absl::OkStatus();
}

// Refuses amounts that the kernel can't hold: it would clamp them silently, or refuse a number that
// nobody typed. `what`: "limit" or "request".
absl::Status CheckSize(const std::string& name, const char* what, const Quantity& amount) {
  // 2^44 - 1 microseconds of quota (kernel/sched/core.c, max_cfs_runtime) in a period of 100 ms.
  static const auto* const kMostCpus = new Quantity(Quantity::FromInt(175'921'860));
  static const auto* const kMostBytes =
      new Quantity(Quantity::FromInt(std::numeric_limits<int64_t>::max()));
  const bool is_cpu = name == kCpu;
  if (!is_cpu && name != kMemory && !absl::StartsWith(name, kHugepages)) return absl::OkStatus();
  // A quantity that large was capped to it.
  if (is_cpu ? amount <= *kMostCpus : amount < *kMostBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": the ", what, " ", amount.text(), " is too large (at most ",
                   is_cpu ? absl::StrCat(kMostCpus->text(), " CPUs") : "9223372036854775806 bytes",
                   "); without a ", what, " it is not bounded"));
}

absl::Status CheckSizes(const Requirements& requirements) {
  for (const auto& [name, request] : requirements.requests) {
    PLIMSOLL_RETURN_IF_ERROR(CheckSize(name, "request", request));
  }
  for (const auto& [name, limit] : requirements.limits) {
    PLIMSOLL_RETURN_IF_ERROR(CheckSize(name, "limit", limit));
  }
  return absl::OkStatus();
}

}  // namespace

Requirements WithDefaults(Requirements requirements) {
  for (const auto& [name, limit] : requirements.limits) requirements.requests.emplace(name, limit);
  return requirements;
}

absl::Status Validate(const Requirements& requirements) {
  PLIMSOLL_RETURN_IF_ERROR(ValidateWritten(requirements));
  return CheckSizes(requirements);
}

absl::Status ValidateWritten(const Requirements& requirements) {
  for (const auto& [name, request] : requirements.requests) {
    if (request.Sign() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": the request ", request.text(), " is negative"));
    }
    if (absl::StartsWith(name, kHugepages) && Find(requirements.limits, name) == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, ": a request of huge pages needs the same limit: they can't be overcommitted"));
    }
  }
  for (const auto& [name, limit] : requirements.limits) {
    if (limit.Sign() < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": the limit ", limit.text(), " is negative"));
    }
    const Quantity* request = Find(requirements.requests, name);
    if (absl::StartsWith(name, kHugepages)) {
      PLIMSOLL_RETURN_IF_ERROR(ValidateHugepages(name, request, limit));
    } else if (request != nullptr && *request > limit) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": the request ", request->text(),
                                                     " is above the limit ", limit.text()));
    }
  }
  return absl::OkStatus();
}

uint64_t MilliCpuToShares(int64_t milli_cpu) {
  if (milli_cpu <= 0) return kMinShares;
  // Above the clamp anyway; keeps the product in range.
  const uint64_t milli = std::min<uint64_t>(static_cast<uint64_t>(milli_cpu), kMaxShares * 1000);
  return std::clamp(milli * 1024 / 1000, kMinShares, kMaxShares);
}

std::optional<int64_t> MilliCpuToQuota(int64_t milli_cpu, uint64_t period_us) {
  if (milli_cpu <= 0) return std::nullopt;
  const absl::int128 quota = static_cast<absl::int128>(milli_cpu) * period_us / 1000;
  return static_cast<int64_t>(
      std::clamp<absl::int128>(quota, kMinQuotaUs, std::numeric_limits<int64_t>::max()));
}

int64_t SharesToMilliCpu(uint64_t shares) {
  if (shares < kMinShares) return 0;
  return static_cast<int64_t>((static_cast<absl::uint128>(shares) * 1000 + 1023) / 1024);
}

int64_t QuotaToMilliCpu(int64_t quota_us, uint64_t period_us) {
  if (quota_us <= 0 || period_us == 0) return 0;
  return Proportion(quota_us, static_cast<int64_t>(period_us), 1000);
}

absl::StatusOr<linux::CgroupSettings> ToCgroupSettings(const Requirements& requirements) {
  linux::CgroupSettings settings;
  const Quantity* cpu_limit = Find(requirements.limits, kCpu);
  const Quantity* cpu_request = Find(requirements.requests, kCpu);
  if (cpu_request == nullptr) cpu_request = cpu_limit;
  settings.cpu_shares = MilliCpuToShares(cpu_request == nullptr ? 0 : cpu_request->MilliValue());
  if (cpu_limit != nullptr) {
    settings.cpu_quota_us = MilliCpuToQuota(cpu_limit->MilliValue());
    if (settings.cpu_quota_us) settings.cpu_period_us = kDefaultPeriodUs;
  }
  const Quantity* memory = Find(requirements.limits, kMemory);
  if (memory != nullptr && memory->Sign() > 0) settings.memory_limit_bytes = memory->Value();
  for (const auto& [name, limit] : requirements.limits) {
    if (!absl::StartsWith(name, kHugepages)) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string size, HugepageSizeName(name));
    settings.hugetlb_limits[size] = static_cast<uint64_t>(limit.Value());
  }
  return settings;
}

absl::StatusOr<std::string> HugepageSizeName(absl::string_view resource) {
  PLIMSOLL_ASSIGN_OR_RETURN(int64_t bytes, HugepageBytes(resource));
  // The kernel (hugetlb_cgroup.c, mem_fmt) knows KB, MB and GB.
  const char* unit = "KB";
  bytes /= 1024;
  for (const char* larger : {"MB", "GB"}) {
    if (bytes < 1024) break;
    bytes /= 1024;
    unit = larger;
  }
  return absl::StrCat(bytes, unit);
}

const char* QosClassName(QosClass qos) {
  switch (qos) {
    case QosClass::kGuaranteed:
      return "Guaranteed";
    case QosClass::kBurstable:
      return "Burstable";
    case QosClass::kBestEffort:
      return "BestEffort";
  }
  return "Unknown";
}

QosClass ComputeQosClass(const std::vector<ContainerRequirements>& pod) {
  ResourceList requests;
  ResourceList limits;
  bool every_limit_set = true;
  for (const ContainerRequirements& container : pod) {
    for (const absl::string_view name : {kCpu, kMemory}) {
      const std::string key(name);
      const Quantity* request = Find(container.requirements.requests, name);
      if (request != nullptr && request->Sign() > 0) requests[key] = requests[key] + *request;
      const Quantity* limit = Find(container.requirements.limits, name);
      if (limit != nullptr && limit->Sign() > 0) {
        limits[key] = limits[key] + *limit;
      } else {
        every_limit_set = false;
      }
    }
  }
  if (requests.empty() && limits.empty()) return QosClass::kBestEffort;
  return every_limit_set && requests == limits ? QosClass::kGuaranteed : QosClass::kBurstable;
}

int OomScoreAdj(const std::vector<ContainerRequirements>& pod, size_t index,
                int64_t memory_capacity_bytes) {
  switch (ComputeQosClass(pod)) {
    case QosClass::kGuaranteed:
      return kGuaranteedOomScore;
    case QosClass::kBestEffort:
      return kBestEffortOomScore;
    case QosClass::kBurstable:
      break;
  }
  const auto score = [&](int64_t request) {
    return kBestEffortOomScore - Proportion(request, memory_capacity_bytes, 1000);
  };
  int64_t adjust = score(MemoryRequest(pod[index].requirements));
  if (pod[index].role == ContainerRequirements::Role::kSidecar) {
    std::optional<int64_t> smallest;
    for (const ContainerRequirements& container : pod) {
      if (container.role != ContainerRequirements::Role::kContainer) continue;
      const int64_t request = MemoryRequest(container.requirements);
      smallest = std::min(smallest.value_or(request), request);
    }
    if (smallest) adjust = std::min(adjust, score(*smallest));
  }
  return static_cast<int>(std::clamp<int64_t>(adjust, kBestEffortOomScore + kGuaranteedOomScore,
                                              kBestEffortOomScore - 1));
}

int64_t LimitedSwapBytes(const Requirements& requirements, QosClass qos, int64_t memory_bytes,
                         int64_t swap_bytes) {
  const Quantity* request = Find(requirements.requests, kMemory);
  const Quantity* limit = Find(requirements.limits, kMemory);
  if (qos != QosClass::kBurstable || request == nullptr || request->IsZero()) return 0;
  if (limit != nullptr && *limit == *request) return 0;
  if (memory_bytes <= 0 || request->Value() > memory_bytes) return 0;
  // Binary fractions round as kubelet's do.
  const double proportion =
      static_cast<double>(request->Value()) / static_cast<double>(memory_bytes);
  return static_cast<int64_t>(proportion * static_cast<double>(swap_bytes));
}

}  // namespace plimsoll::resources
