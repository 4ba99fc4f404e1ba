#include "runtime/requests/linux_holds.h"

#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "resources/contradictions.h"
#include "runtime/requests/picture_parts.h"

namespace plimsoll::runtime {
namespace {

using resources::Quantity;
using resources::Requirements;
using resources::ResourceList;

std::optional<Quantity> In(const ResourceList& list, const std::string& resource) {
  const auto found = list.find(resource);
  return found == list.end() ? std::nullopt : std::optional(found->second);
}

class Correction {
 public:
  Correction(const Requirements& pod, Requirements* told) : pod_(pod), before_(*told), out_(told) {}

  bool IsContradictedBy(const linux::CgroupSettings& one) const {
    return !resources::ContradictionsOf(before_, pod_, one).empty();
  }
  void SetRequest(const std::string& resource, const Quantity& amount) {
    out_->requests.insert_or_assign(resource, amount);
    members_.insert(absl::StrCat("requests[", resource, "]"));
  }
  void SetLimit(const std::string& resource, const Quantity& amount) {
    out_->limits.insert_or_assign(resource, amount);
    members_.insert(absl::StrCat("limits[", resource, "]"));
  }
  // The request that the limit stood for stays.
  void LiftLimit(const std::string& resource) {
    const std::optional<Quantity> limit = In(before_.limits, resource);
    if (!limit) return;
    out_->requests.emplace(resource, *limit);
    out_->limits.erase(resource);
    members_.insert(absl::StrCat("limits[", resource, "]"));
  }
  // Lowers the request to a limit that has become smaller. A pod's request may have been above.
  void KeepWithin(const std::string& resource) {
    const std::optional<Quantity> request = In(out_->requests, resource);
    const std::optional<Quantity> limit = In(out_->limits, resource);
    if (!request || !limit || *request <= *limit) return;
    const std::optional<Quantity> had = In(before_.requests, resource);
    const std::optional<Quantity> had_limit = In(before_.limits, resource);
    if (had && had_limit && *had > *had_limit) return;
    SetRequest(resource, *limit);
  }
  std::vector<std::string> members() const { return {members_.begin(), members_.end()}; }

 private:
  const Requirements& pod_;
  const Requirements before_;
  Requirements* const out_;
  std::set<std::string> members_;
};

void CorrectCpu(const linux::CgroupSettings& settings, Correction* correction) {
  linux::CgroupSettings shares;
  shares.cpu_shares = settings.cpu_shares;
  if (settings.cpu_shares && correction->IsContradictedBy(shares)) {
    correction->SetRequest("cpu",
                           Quantity::FromMilli(resources::SharesToMilliCpu(*settings.cpu_shares)));
  }
  linux::CgroupSettings quota;
  quota.cpu_quota_us = settings.cpu_quota_us;
  quota.cpu_period_us = settings.cpu_period_us;
  if (settings.cpu_quota_us && correction->IsContradictedBy(quota)) {
    const int64_t milli = resources::QuotaToMilliCpu(
        *settings.cpu_quota_us, settings.cpu_period_us.value_or(resources::kDefaultPeriodUs));
    if (milli > 0) {
      correction->SetLimit("cpu", Quantity::FromMilli(milli));
    } else {
      correction->LiftLimit("cpu");
    }
  }
  correction->KeepWithin("cpu");
}

void CorrectMemory(const linux::CgroupSettings& settings, Correction* correction) {
  linux::CgroupSettings memory;
  memory.memory_limit_bytes = settings.memory_limit_bytes;
  if (!settings.memory_limit_bytes || !correction->IsContradictedBy(memory)) return;
  if (const int64_t bytes = *settings.memory_limit_bytes; bytes > 0) {
    correction->SetLimit("memory", Quantity::FromInt(bytes, Quantity::Format::kBinarySi));
  } else {
    correction->LiftLimit("memory");
  }
  correction->KeepWithin("memory");
}

// The resource of pages of `size`, in the kernel's spelling; "" if it has no name.
std::string ResourceOfPages(const ResourceList& limits, const std::string& size, uint64_t bytes) {
  for (const auto& [resource, unused] : limits) {
    const auto spelled = resources::HugepageSizeName(resource);
    if (spelled.ok() && *spelled == size) return resource;
  }
  linux::CgroupSettings one;
  one.hugetlb_limits[size] = bytes;
  const Requirements named = GuessFrom(one);
  return named.limits.empty() ? "" : named.limits.begin()->first;
}

void CorrectHugepages(const linux::CgroupSettings& settings, const ResourceList& limits,
                      Correction* correction) {
  for (const auto& [size, bytes] : settings.hugetlb_limits) {
    linux::CgroupSettings one;
    one.hugetlb_limits[size] = bytes;
    const std::string resource = ResourceOfPages(limits, size, bytes);
    if (resource.empty() || !correction->IsContradictedBy(one)) continue;
    const Quantity amount =
        Quantity::FromInt(static_cast<int64_t>(bytes), Quantity::Format::kBinarySi);
    correction->SetLimit(resource, amount);
    correction->SetRequest(resource, amount);  // the two are one
  }
}

// Takes over the members of `amounts` that differ from `before`.
void TakeChanged(const ResourceList& before, const ResourceList& amounts,
                 std::map<std::string, std::string>* written) {
  for (const auto& [resource, amount] : amounts) {
    if (In(before, resource) != amount) (*written)[resource] = amount.Canonical();
  }
  for (const auto& [resource, unused] : before) {
    if (!amounts.contains(resource)) written->erase(resource);
  }
}

}  // namespace

std::vector<std::string> LetLinuxHold(const linux::CgroupSettings& settings,
                                      const Requirements& pod, Requirements* told) {
  const ResourceList limits = told->limits;
  Correction correction(pod, told);
  CorrectCpu(settings, &correction);
  CorrectMemory(settings, &correction);
  CorrectHugepages(settings, limits, &correction);
  return correction.members();
}

std::vector<std::string> LetLinuxHold(const linux::CgroupSettings& settings,
                                      const Requirements& pod, KubernetesResources* told) {
  const auto before = ParseResources(*told);
  if (!before.ok()) return {};
  Requirements now = *before;
  std::vector<std::string> members = LetLinuxHold(settings, pod, &now);
  TakeChanged(before->requests, now.requests, &told->requests);
  TakeChanged(before->limits, now.limits, &told->limits);
  return members;
}

}  // namespace plimsoll::runtime
