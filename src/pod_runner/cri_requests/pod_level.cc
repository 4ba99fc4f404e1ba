#include "pod_runner/cri_requests/pod_level.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "resources/pod_total.h"

namespace plimsoll::pod {
namespace {

using Container = resources::ContainerRequirements;

int64_t MemoryIn(const resources::ResourceList& list) {
  const auto found = list.find("memory");
  return found == list.end() ? 0 : found->second.Value();
}

// The pod's own values as written: PodTotal fills in requests that the pod lacks.
resources::Requirements OwnOf(const Manifest& pod) {
  return pod.resources.value_or(resources::Requirements());
}

// The requests that a Burstable pod's containers are taken to have.
std::vector<Container> WithShares(const Manifest& pod, std::vector<Container> all) {
  const int64_t sum = MemoryIn(resources::PodTotal(all, {}, {}).requests);
  int64_t parts = 0;
  for (const Container& each : all) parts += each.role == Container::Role::kInit ? 0 : 1;
  const int64_t rest = MemoryIn(resources::PodTotal(all, OwnOf(pod), {}).requests) - sum;
  for (Container& each : all) {
    if (rest <= 0 || parts == 0) break;
    resources::Quantity& request = each.requirements.requests["memory"];
    request = request + resources::Quantity::FromInt(rest / parts);
  }
  // Keeps the list Burstable, as the pod is.
  all.push_back({Container::Role::kInit, {{{"cpu", resources::Quantity::FromMilli(1)}}, {}}});
  return all;
}

// The limits in the sandbox's request.
resources::Requirements ToldLimits(const Manifest& pod, const std::vector<Container>& all,
                                   const resources::Requirements& whole, SandboxLimits limits) {
  const resources::Requirements own = OwnOf(pod);
  resources::Requirements told = {.requests = {}, .limits = own.limits};
  if (limits == SandboxLimits::kOwn) return told;
  for (const char* name : {"cpu", "memory"}) {
    const auto sum = whole.limits.find(name);
    if (own.limits.contains(name) || sum == whole.limits.end()) continue;
    if (limits == SandboxLimits::kBounds && !resources::IsBounded(all, own, name)) continue;
    if (!resources::Validate({.requests = {}, .limits = {*sum}}).ok()) continue;
    told.limits.insert(*sum);
  }
  return told;
}

}  // namespace

resources::QosClass QosClassOf(const Manifest& pod) {
  std::vector<Container> all;
  for (const ContainerManifest& container : pod.containers) {
    all.push_back({container.role, resources::WithDefaults(container.resources)});
  }
  return resources::PodQosClass(all, OwnOf(pod));
}

int OomScoreAdjOf(const Manifest& pod, const std::vector<Container>& all, size_t index,
                  int64_t memory_capacity_bytes) {
  if (!pod.resources) return resources::OomScoreAdj(all, index, memory_capacity_bytes);
  if (QosClassOf(pod) != resources::QosClass::kBurstable) {
    return resources::OomScoreAdj({{Container::Role::kContainer, WithDefaults(OwnOf(pod))}}, 0,
                                  memory_capacity_bytes);
  }
  return resources::OomScoreAdj(WithShares(pod, all), index, memory_capacity_bytes);
}

resources::Requirements LinuxRequirementsOf(const Manifest& pod, size_t index) {
  resources::Requirements all = resources::WithDefaults(pod.containers[index].resources);
  if (!pod.resources) return all;
  for (const auto& [name, limit] : pod.resources->limits) {
    const auto [own, added] = all.limits.emplace(name, limit);
    if (!added && own->second.IsZero()) own->second = limit;
  }
  return all;
}

absl::Status SetGroup(const Manifest& pod, const std::vector<Container>& all, SandboxLimits limits,
                      ::runtime::v1::LinuxContainerResources* out) {
  const auto whole = resources::PodTotal(all, OwnOf(pod), {});
  const auto cpu = whole.requests.find("cpu");
  out->set_cpu_shares(static_cast<int64_t>(
      resources::MilliCpuToShares(cpu == whole.requests.end() ? 0 : cpu->second.MilliValue())));
  absl::StatusOr<linux::CgroupSettings> settings =
      resources::ToCgroupSettings(ToldLimits(pod, all, whole, limits));
  if (!settings.ok()) return Annotate(settings.status(), absl::StrCat(pod.file, ": spec"));
  out->set_cpu_quota(settings->cpu_quota_us.value_or(0));
  out->set_cpu_period(static_cast<int64_t>(settings->cpu_period_us.value_or(0)));
  out->set_memory_limit_in_bytes(settings->memory_limit_bytes.value_or(0));
  for (const auto& [size, bytes] : settings->hugetlb_limits) {
    auto* limit = out->add_hugepage_limits();
    limit->set_page_size(size);
    limit->set_limit(bytes);
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::pod
