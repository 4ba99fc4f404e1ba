#include "agent/pods/resizing/resize_plan.h"

#include <limits>
#include <optional>

#include "absl/numeric/int128.h"
#include "agent/pods/allocation/places.h"
#include "agent/pods/resizing/resize_check.h"
#include "pod_runner/cri_requests/pod_level.h"
#include "resources/pages.h"
#include "resources/shares.h"

namespace plimsoll::agent {
namespace {

using resources::Requirements;
using resources::ResourceList;
using Role = resources::ContainerRequirements::Role;

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// The difference of one resource between what a run has and what it shall have.
struct Lack {
  bool any = false;
  bool raises = false;  // its limit
  bool lowers = false;
};

Lack LackOf(uint64_t has, uint64_t wants) {
  return {.any = has != wants, .raises = wants > has, .lowers = wants < has};
}

Lack Both(const Lack& one, const Lack& other) {
  return {one.any || other.any, one.raises || other.raises, one.lowers || other.lowers};
}

uint64_t LimitOf(std::optional<int64_t> limit) {
  return limit.value_or(0) <= 0 ? kNoLimit : static_cast<uint64_t>(*limit);
}

// Thousandths of a percent of a CPU: comparable whatever the period.
uint64_t RateOf(std::optional<int64_t> quota_us, int64_t period_us) {
  if (quota_us.value_or(0) <= 0) return kNoLimit;
  const int64_t period = period_us > 0 ? period_us : int64_t{resources::kDefaultPeriodUs};
  return static_cast<uint64_t>(absl::int128(*quota_us) * 100'000 / period);
}

uint64_t AsHeld(uint64_t bytes, int64_t page_bytes) {
  if (bytes >= uint64_t{1} << 62) return kNoLimit;
  return static_cast<uint64_t>(resources::WholePages(static_cast<int64_t>(bytes), page_bytes));
}

std::optional<resources::Quantity> WrittenIn(const ResourceList& list, const std::string& name) {
  const auto it = list.find(name);
  return it == list.end() ? std::nullopt : std::optional(it->second);
}

bool DiffersIn(const std::string& resource, const Requirements& one, const Requirements& other) {
  return WrittenIn(one.requests, resource) != WrittenIn(other.requests, resource) ||
         WrittenIn(one.limits, resource) != WrittenIn(other.limits, resource);
}

// The shares that the runtime reports are those that it would report of `wants`.
bool HoldsShares(int64_t reported, uint64_t wants, bool keeps_shares) {
  const auto has = static_cast<uint64_t>(reported);
  return keeps_shares ? has == wants : resources::MayBeReported(has, wants);
}

uint64_t SharesOf(const pod::Manifest& pod, size_t index) {
  const auto settings = resources::ToCgroupSettings(pod::LinuxRequirementsOf(pod, index));
  return settings.ok() ? settings->cpu_shares.value_or(0) : 0;
}

// The report suits the amounts of before the resize as well as the new ones, so that it doesn't say
// which the container has: least shares may be a weight that both have by one formula alone.
bool IsAmbiguous(int64_t reported, const ResizeView& view, size_t index) {
  const auto has = static_cast<uint64_t>(reported);
  const uint64_t had = SharesOf(view.before, index);
  const uint64_t wants = SharesOf(view.after, index);
  return has > 0 && has != wants && had != wants && resources::MayBeReported(has, had) &&
         resources::MayBeReported(has, wants);
}

struct Lacks {
  Lack cpu;
  Lack memory;
};

Lacks ReportedLacks(const ReportedResources& has, const ResizeView& view, size_t index) {
  Lacks lacks;
  const pod::ContainerManifest& container = view.after.containers[index];
  linux::CgroupSettings settings =
      resources::ToCgroupSettings(pod::LinuxRequirementsOf(view.after, index))
          .value_or(linux::CgroupSettings());
  if (HasExclusiveCpus(view.grant, container.name)) settings.cpu_quota_us.reset();
  lacks.cpu = LackOf(
      RateOf(has.cpu_quota_us, has.cpu_period_us),
      RateOf(settings.cpu_quota_us, static_cast<int64_t>(settings.cpu_period_us.value_or(0))));
  lacks.cpu.any |= settings.cpu_shares && has.cpu_shares > 0 &&
                   !HoldsShares(has.cpu_shares, *settings.cpu_shares, view.keeps_shares);
  lacks.memory = LackOf(AsHeld(LimitOf(has.memory_limit_bytes), view.page_bytes),
                        AsHeld(LimitOf(settings.memory_limit_bytes), view.page_bytes));
  if (!view.writes || !has.written) return lacks;
  const Requirements wants = resources::WithDefaults(container.resources);
  lacks.cpu.any |= DiffersIn("cpu", *has.written, wants);
  lacks.memory.any |= DiffersIn("memory", *has.written, wants);
  return lacks;
}

// The lacks of a run that nobody reports on: the difference between the two manifests.
Lacks AssumedLacks(const Requirements& before, const Requirements& wants) {
  const auto lack = [&](const char* resource) {
    const auto had = WrittenIn(before.limits, resource), want = WrittenIn(wants.limits, resource);
    Lack difference = LackOf(had ? static_cast<uint64_t>(had->MilliValue()) : kNoLimit,
                             want ? static_cast<uint64_t>(want->MilliValue()) : kNoLimit);
    difference.any = DiffersIn(resource, before, wants);
    return difference;
  };
  return {.cpu = lack("cpu"), .memory = lack("memory")};
}

bool Lives(const ObservedContainer& run) {
  return run.state == ObservedState::kCreated || run.state == ObservedState::kRunning;
}

// The manifest's containers that a resize concerns, with their living runs in the ready sandbox.
template <typename Visit>
void EachRun(const pod::Manifest& pod, const ObservedPod& observed, const Visit& visit) {
  const ObservedSandbox* const ready = observed.ReadySandbox();
  if (ready == nullptr) return;
  for (size_t i = 0; i < pod.containers.size(); ++i) {
    if (pod.containers[i].role == Role::kInit) continue;
    const ObservedContainer* const run = observed.Newest(pod.containers[i].name, ready->id);
    if (run != nullptr && Lives(*run)) visit(i, *run);
  }
}

struct LackingRun {
  ResizeStep step;
  bool raises = false;
};

std::vector<LackingRun> LackingRuns(const ResizeView& view) {
  std::vector<LackingRun> lacking;
  EachRun(view.after, view.observed, [&](size_t i, const ObservedContainer& run) {
    const pod::ContainerManifest& container = view.after.containers[i];
    const bool is_old = run.generation < view.generation;
    if (!run.resources && !is_old) return;
    Lacks lacks = run.resources ? ReportedLacks(*run.resources, view, i)
                                : AssumedLacks(pod::LinuxRequirementsOf(view.before, i),
                                               pod::LinuxRequirementsOf(view.after, i));
    if (is_old && run.resources) {
      lacks.cpu.any |= IsAmbiguous(run.resources->cpu_shares, view, i);
    }
    const Lack all = Both(lacks.cpu, lacks.memory);
    if (run.resources && !all.any) return;
    const bool restarts = is_old && run.state == ObservedState::kRunning &&
                          ((lacks.cpu.any && RestartsFor(container, "cpu")) ||
                           (lacks.memory.any && RestartsFor(container, "memory")));
    lacking.push_back({{.kind = restarts ? ResizeStep::Kind::kRestart : ResizeStep::Kind::kUpdate,
                        .index = i,
                        .id = run.id},
                       all.raises || !all.lowers});
  });
  return lacking;
}

}  // namespace

std::vector<ResizeStep> PlanResize(const ResizeView& view) {
  using Kind = ResizeStep::Kind;
  if (view.observed.ReadySandbox() == nullptr) return {};
  const std::vector<LackingRun> lacking = LackingRuns(view);
  std::vector<ResizeStep> steps = {{.kind = Kind::kAnnounce, .index = 0, .id = ""},
                                   {.kind = Kind::kRaisePod, .index = 0, .id = ""}};
  const auto append = [&](Kind kind, bool raises) {
    for (const LackingRun& each : lacking) {
      if (each.step.kind == kind && (kind == Kind::kRestart || each.raises == raises)) {
        steps.push_back(each.step);
      }
    }
  };
  append(Kind::kUpdate, /*raises=*/false);
  append(Kind::kRestart, /*raises=*/false);
  append(Kind::kUpdate, /*raises=*/true);
  steps.push_back({.kind = Kind::kSettlePod, .index = 0, .id = ""});
  return steps;
}

std::vector<std::string> NotInForce(const ResizeView& view) {
  std::vector<std::string> names;
  EachRun(view.after, view.observed, [&](size_t i, const ObservedContainer& run) {
    if (!run.resources) return;
    const Lacks lacks = ReportedLacks(*run.resources, view, i);
    if (lacks.cpu.any || lacks.memory.any) names.push_back(view.after.containers[i].name);
  });
  return names;
}

std::vector<std::string> Unverified(const pod::Manifest& pod, const ObservedPod& observed,
                                    int64_t generation) {
  std::vector<std::string> names;
  EachRun(pod, observed, [&](size_t i, const ObservedContainer& run) {
    const bool is_told = run.resources || run.state != ObservedState::kRunning;
    if (!is_told && run.generation < generation) names.push_back(pod.containers[i].name);
  });
  return names;
}

}  // namespace plimsoll::agent
