#include "runtime/requests/machine_needs.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "resources/pod_total.h"
#include "runtime/requests/picture_parts.h"

namespace plimsoll::runtime {
namespace {

using resources::Quantity;
using resources::Requirements;
using resources::ResourceList;
using List = ResourceList Requirements::*;
using Role = resources::ContainerRequirements::Role;

const Quantity* Find(const ResourceList& list, const std::string& name) {
  const auto found = list.find(name);
  return found == list.end() ? nullptr : &found->second;
}

// --- One container

void HoldCpu(const linux::CgroupSettings& group, const Requirements& written, Requirements* held) {
  // Compared as shares and quota: the kernel takes neither below its least.
  const Quantity* request = Find(written.requests, "cpu");
  if (group.cpu_shares.value_or(0) >
      resources::MilliCpuToShares(request == nullptr ? 0 : request->MilliValue())) {
    held->requests["cpu"] = Quantity::FromMilli(resources::SharesToMilliCpu(*group.cpu_shares));
  }
  const uint64_t period = group.cpu_period_us.value_or(resources::kDefaultPeriodUs);
  const Quantity* limit = Find(written.limits, "cpu");
  const int64_t quota =
      limit == nullptr ? 0 : resources::MilliCpuToQuota(limit->MilliValue(), period).value_or(0);
  if (group.cpu_quota_us.value_or(-1) > quota) {
    held->limits["cpu"] =
        Quantity::FromMilli(resources::QuotaToMilliCpu(*group.cpu_quota_us, period));
  }
}

void HoldMemory(const linux::CgroupSettings& group, const Requirements& written,
                Requirements* held) {
  const int64_t bytes = group.memory_limit_bytes.value_or(-1);
  const Quantity* limit = Find(written.limits, "memory");
  if (bytes <= (limit == nullptr ? 0 : limit->Value())) return;
  held->limits["memory"] = Quantity::FromInt(bytes, Quantity::Format::kBinarySi);
}

void HoldHugePages(const linux::CgroupSettings& group, const Requirements& written,
                   Requirements* held) {
  for (const auto& [name, limit] : written.limits) {
    if (!absl::StartsWith(name, "hugepages-")) continue;
    const auto size = resources::HugepageSizeName(name);
    const auto in_force = size.ok() ? group.hugetlb_limits.find(*size) : group.hugetlb_limits.end();
    if (in_force == group.hugetlb_limits.end()) continue;
    constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
    const auto bytes = static_cast<int64_t>(std::min(in_force->second, kMost));
    if (bytes <= limit.Value()) continue;
    held->limits[name] = held->requests[name] =
        Quantity::FromInt(bytes, Quantity::Format::kBinarySi);
  }
}

struct Holder {
  Role role = Role::kContainer;
  Requirements written;
  Requirements held;  // at least `written`; also of resources that are not written
};

Holder HolderOf(Role role, const AnnouncedContainer& container,
                const linux::CgroupSettings* group) {
  Holder holder = {
      .role = role, .written = ReadWritten(container.kubernetes_resources), .held = {}};
  holder.held = holder.written;
  if (group == nullptr) return holder;
  HoldCpu(*group, holder.written, &holder.held);
  HoldMemory(*group, holder.written, &holder.held);
  HoldHugePages(*group, holder.written, &holder.held);
  return holder;
}

// --- The pod

// Resources of which the pod's own amounts replace the sum of its containers'.
Requirements WholeOf(const SandboxSpec& pod, const PodPicture& picture) {
  Requirements whole = ReadWritten(picture.now.kubernetes_resources);
  if (!pod.pod_resources.empty()) return whole;
  const Requirements sums = GuessFrom(pod.resources);
  whole.requests.insert(sums.requests.begin(), sums.requests.end());
  whole.limits.insert(sums.limits.begin(), sums.limits.end());
  return whole;
}

class Needs {
 public:
  Needs(const SandboxSpec& pod, const PodPicture& picture,
        const std::vector<ContainerSpec>& living);

  // Raises the amounts of `list`, which are the picture's.
  void Raise(List list, ResourceList* amounts) const;

 private:
  // A container has more of the resource than its own amount, or than the pod's, `whole`. Where
  // nobody announced, containers' amounts are those of Linux, and only their sum counts.
  bool AnyLags(List list, const std::string& name, const Quantity& whole) const;

  const bool is_announced_;
  const Requirements whole_;
  const Requirements before_;
  std::vector<Holder> holders_;
  Requirements of_written_;  // the sum of what is held of written resources
  Requirements of_all_;      // the same of all resources
};

Needs::Needs(const SandboxSpec& pod, const PodPicture& picture,
             const std::vector<ContainerSpec>& living)
    : is_announced_(!pod.pod_resources.empty()),
      whole_(WholeOf(pod, picture)),
      before_(ReadTotal(pod.needed_before).value_or(Requirements())) {
  const bool unknown_types = TypesAreUnknown(pod.pod_resources) || TypesAreUnknown(picture.now);
  std::vector<resources::ContainerRequirements> all;
  std::vector<resources::ContainerRequirements> of_written;
  for (const AnnouncedContainer& each : picture.now.containers) {
    const auto made = absl::c_find_if(
        living, [&each](const ContainerSpec& spec) { return spec.name == each.name; });
    const Role role = unknown_types ? Role::kContainer : RoleOf(each.type);
    const Holder& holder = holders_.emplace_back(
        HolderOf(role, each, made == living.end() ? nullptr : &made->resources));
    all.push_back({role, holder.held});
    Requirements known = holder.held;
    std::erase_if(known.requests,
                  [&](const auto& one) { return !holder.written.requests.contains(one.first); });
    std::erase_if(known.limits,
                  [&](const auto& one) { return !holder.written.limits.contains(one.first); });
    of_written.push_back({role, std::move(known)});
  }
  of_all_ = resources::PodTotal(all, {}, {});
  of_written_ = resources::PodTotal(of_written, {}, {});
}

bool Needs::AnyLags(List list, const std::string& name, const Quantity& whole) const {
  return !is_announced_ || absl::c_any_of(holders_, [&](const Holder& holder) {
    const Quantity* held = Find(holder.held.*list, name);
    const Quantity* written = Find(holder.written.*list, name);
    return held != nullptr && *held > (written == nullptr ? whole : *written);
  });
}

void Needs::Raise(List list, ResourceList* amounts) const {
  for (auto& [name, amount] : *amounts) {
    const bool is_whole = (whole_.*list).contains(name);
    const Quantity* held = Find((is_whole ? of_all_ : of_written_).*list, name);
    if (held == nullptr) continue;
    if (!is_whole) {
      amount = std::max(amount, *held);
      continue;
    }
    const Quantity* before = Find(before_.*list, name);
    if (before == nullptr || !AnyLags(list, name, amount)) continue;
    amount = std::max(amount, std::min(*before, *held));
  }
}

}  // namespace

Requirements MachineNeeds(const SandboxSpec& pod, const PodPicture& picture,
                          const std::vector<ContainerSpec>& living) {
  const Needs needs(pod, picture, living);
  Requirements all = picture.total;
  needs.Raise(&Requirements::requests, &all.requests);
  needs.Raise(&Requirements::limits, &all.limits);
  return all;
}

}  // namespace plimsoll::runtime
