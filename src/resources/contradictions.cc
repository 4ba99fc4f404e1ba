#include "resources/contradictions.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/text/human_bytes.h"

namespace plimsoll::resources {
namespace {

using Sentences = std::vector<std::string>;

// Null: not written. An amount of 0 counts as not written.
const Quantity* Find(const ResourceList& list, const std::string& name) {
  const auto found = list.find(name);
  return found == list.end() || found->second.IsZero() ? nullptr : &found->second;
}

const Quantity* LimitOf(const Requirements& written, const Requirements& pod,
                        const std::string& name) {
  const Quantity* own = Find(written.limits, name);
  return own != nullptr ? own : Find(pod.limits, name);
}

std::string Said(const char* what, const std::string& name, const Quantity* amount) {
  if (amount == nullptr) return absl::StrCat("no ", what, " of ", name, " is written");
  return absl::StrCat("the ", what, " of ", name, " is ", amount->text());
}

void CompareShares(const Requirements& written, const Quantity* limit, uint64_t shares,
                   Sentences* out) {
  const Quantity* request = Find(written.requests, "cpu");
  const Quantity* meant = request != nullptr ? request : limit;
  const int64_t milli = meant == nullptr ? 0 : meant->MilliValue();
  if (shares == MilliCpuToShares(milli)) return;
  // Somebody else's rounding: other shares for the same thousandths.
  if (meant != nullptr && SharesToMilliCpu(shares) == milli) return;
  out->push_back(
      absl::StrCat(Said(meant == limit && meant != nullptr ? "limit" : "request", "cpu", meant),
                   ", linux has ", shares, " shares (", SharesToMilliCpu(shares), "m)"));
}

// The container may have exclusive CPUs (CPU manager, static policy): then kubelet lifts the quota.
bool MayBeExclusive(const Requirements& written, const Quantity& limit) {
  const Quantity* request = Find(written.requests, "cpu");
  return limit.MilliValue() % 1000 == 0 && (request == nullptr || *request == limit);
}

void CompareQuota(const Requirements& written, const Quantity* limit,
                  const linux::CgroupSettings& settings, Sentences* out) {
  const int64_t quota = *settings.cpu_quota_us;
  const uint64_t period = settings.cpu_period_us.value_or(kDefaultPeriodUs);
  const std::string said = Said("limit", "cpu", limit);
  if (quota <= 0) {
    if (limit == nullptr || MayBeExclusive(written, *limit)) return;
    out->push_back(absl::StrCat(said, ", linux has no CPU quota"));
    return;
  }
  const int64_t milli = QuotaToMilliCpu(quota, period);
  if (limit != nullptr &&
      (quota == MilliCpuToQuota(limit->MilliValue(), period) || milli == limit->MilliValue())) {
    return;
  }
  out->push_back(absl::StrCat(said, ", linux has a quota of ", quota, " in ", period,
                              " microseconds (", milli, "m)"));
}

void CompareMemory(const Quantity* limit, int64_t bytes, Sentences* out) {
  if (bytes > 0 ? limit != nullptr && limit->Value() == bytes : limit == nullptr) return;
  out->push_back(
      absl::StrCat(Said("limit", "memory", limit), ", linux has ",
                   bytes > 0 ? BytesInWords(static_cast<uint64_t>(bytes)) : "no memory limit"));
}

// The written resource for pages of `size` in the kernel's spelling; "" if there is none.
std::string ResourceOfPages(const Requirements& written, const Requirements& pod,
                            const std::string& size) {
  for (const ResourceList* list : {&written.limits, &pod.limits}) {
    for (const auto& [name, unused] : *list) {
      if (!absl::StartsWith(name, "hugepages-")) continue;
      const absl::StatusOr<std::string> spelled = HugepageSizeName(name);
      if (spelled.ok() && *spelled == size) return name;
    }
  }
  return "";
}

void CompareHugepages(const Requirements& written, const Requirements& pod,
                      const linux::CgroupSettings& settings, Sentences* out) {
  for (const auto& [size, bytes] : settings.hugetlb_limits) {
    const std::string name = ResourceOfPages(written, pod, size);
    const Quantity* limit = name.empty() ? nullptr : LimitOf(written, pod, name);
    if (bytes == (limit == nullptr ? 0 : static_cast<uint64_t>(limit->Value()))) continue;
    const std::string called = name.empty() ? absl::StrCat("huge pages of ", size) : name;
    out->push_back(absl::StrCat(Said("limit", called, limit), ", linux has ", BytesInWords(bytes)));
  }
}

}  // namespace

std::vector<std::string> ContradictionsOf(const Requirements& written, const Requirements& pod,
                                          const linux::CgroupSettings& settings) {
  Sentences contradictions;
  const Quantity* cpu = LimitOf(written, pod, "cpu");
  if (settings.cpu_shares) CompareShares(written, cpu, *settings.cpu_shares, &contradictions);
  if (settings.cpu_quota_us) CompareQuota(written, cpu, settings, &contradictions);
  if (settings.memory_limit_bytes) {
    CompareMemory(LimitOf(written, pod, "memory"), *settings.memory_limit_bytes, &contradictions);
  }
  CompareHugepages(written, pod, settings, &contradictions);
  return contradictions;
}

}  // namespace plimsoll::resources
