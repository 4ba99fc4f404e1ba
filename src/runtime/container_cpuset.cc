// Cpusets of containers and of pods' inits, as the share of the node that pods may use makes them.
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "resources/cpu_set.h"
#include "runtime/class_files.h"
#include "runtime/confine.h"
#include "runtime/cpuset_check.h"
#include "runtime/engine_impl.h"
#include "runtime/oci/fit.h"
#include "runtime/state_machine.h"

namespace plimsoll::runtime {
namespace {

// "CPUs 2-5 and memory nodes 0", of a list that says something.
std::string Described(const linux::CgroupSettings& settings) {
  std::vector<std::string> parts;
  if (!settings.cpuset_cpus.value_or("").empty()) {
    parts.push_back(absl::StrCat("CPUs ", *settings.cpuset_cpus));
  }
  if (!settings.cpuset_mems.value_or("").empty()) {
    parts.push_back(absl::StrCat("memory nodes ", *settings.cpuset_mems));
  }
  return parts.empty() ? "all of its pod's" : absl::StrJoin(parts, " and ");
}

// kubelet's CPU manager gives out all CPUs but those that it is told to reserve, and tries for
// ever.
std::string WhatKubeletNeeds(const FsRoot& host, const linux::CgroupSettings& asked,
                             const NodeShare& share) {
  const auto wanted = resources::CpuSet::Parse(asked.cpuset_cpus.value_or(""));
  if (!wanted.ok() || wanted->IsSubsetOf(share.cpus)) return "";
  const auto text = host.Read("sys/devices/system/cpu/online");
  if (!text.ok()) return "";
  const auto online = resources::CpuSet::Parse(*text);
  if (!online.ok()) return "";
  const resources::CpuSet others = online->Difference(share.cpus);
  if (others.Empty()) return "";
  return absl::StrCat(
      "; where kubelet's CPU manager chose them, its configuration needs ",
      "reservedSystemCPUs: \"", others.ToString(),
      "\" and cpuManagerPolicyOptions: ", "{strict-cpu-reservation: \"true\"} (docs/topology.md)");
}

}  // namespace

void EngineImpl::SetNodeShare(const NodeShare& share) {
  absl::Status kept;
  {
    absl::MutexLock lock(&share_mutex_);
    if (share == share_) return;
    share_ = share;
    ++share_epoch_;
    kept = told_.Add(share);
  }
  Warn("", "", kept);
  if (!share.is_whole && !HasCpusets()) {
    Warn("", "",
         absl::FailedPreconditionError("nodeResources is told, but not enforced: this machine has "
                                       "no cgroup controller \"cpuset\""));
  }
  if (follow_is_due_.exchange(true)) return;
  const auto follow = [this] {
    follow_is_due_ = false;
    FollowShare();
  };
  if (!patient_.TrySchedule(follow)) follow();
}

void EngineImpl::RefuseOutsideShare(bool refuse) {
  absl::MutexLock lock(&share_mutex_);
  outside_ = refuse ? OutsideShare::kRefuse : OutsideShare::kClip;
}

bool EngineImpl::HasCpusets() const {
  return absl::c_linear_search(options_.cgroups->Controllers(), "cpuset");
}

EngineImpl::ShareNow EngineImpl::CurrentShare() const {
  absl::MutexLock lock(&share_mutex_);
  // Of a whole share nothing is refused: what went of one that stood in for it is clipped too.
  return {share_, share_.is_whole ? told_.in_force() : told_.sum(), outside_, share_epoch_};
}

void EngineImpl::KeepTold() {
  absl::MutexLock lock(&share_mutex_);
  told_.Retry().IgnoreError();  // said when it failed first
}

absl::StatusOr<Confined> EngineImpl::ConfineAsked(const linux::CgroupSettings& asked,
                                                  const ShareNow& now, bool is_new) {
  KeepTold();
  // What this machine lacks is clipped as well; else it is a mistake.
  if (now.share.is_whole || now.outside == OutsideShare::kRefuse) {
    PLIMSOLL_RETURN_IF_ERROR(CheckCpuset(options_.host, asked, now.told));
  }
  if (!HasCpusets()) return Confined{asked, ""};
  absl::StatusOr<Confined> confined = Confine(asked, now.share, now.told, now.outside, is_new);
  if (!absl::IsFailedPrecondition(confined.status())) return confined;
  return absl::FailedPreconditionError(
      absl::StrCat(confined.status().message(), WhatKubeletNeeds(options_.host, asked, now.share)));
}

void EngineImpl::PutIntoShare(linux::CgroupSettings* asked) const {
  const linux::CgroupSettings given = Follow(*asked, CurrentShare().share).settings;
  if (!given.cpuset_cpus.value_or("").empty()) asked->cpuset_cpus = given.cpuset_cpus;
  if (!given.cpuset_mems.value_or("").empty()) asked->cpuset_mems = given.cpuset_mems;
}

void EngineImpl::TellLost(Container& container, const Confined& confined) {
  {
    absl::MutexLock lock(&container.mutex);
    if (container.lost_cpus == confined.lost) return;
    container.lost_cpus = confined.lost;
  }
  const std::string given = Described(confined.settings);
  if (confined.lost.empty()) {
    options_.events->Add(EventType::kContainerUpdated, container.sandbox_id, container.id,
                         absl::StrCat("has all that it asked for again: ", given));
    return;
  }
  options_.events->Add(
      EventType::kWarning, container.sandbox_id, container.id,
      absl::StrCat("of what it asked for, this node does not have or does not give "
                   "to pods (nodeResources) ",
                   confined.lost, "; it runs on ", given));
}

void EngineImpl::FollowShare() {
  if (!HasCpusets()) return;
  std::vector<std::shared_ptr<Sandbox>> sandboxes;
  std::vector<std::shared_ptr<Container>> containers;
  {
    absl::MutexLock lock(&mutex_);
    sandboxes = sandboxes_.All();
    containers = containers_.All();
  }
  FollowInParents(sandboxes);
  for (const auto& sandbox : sandboxes) FollowShare(*sandbox);
  for (const auto& container : containers) FollowShare(*container);
}

// On v1 a CPU that went is gone from every group for good: ours get it back, outermost first.
void EngineImpl::FollowInParents(const std::vector<std::shared_ptr<Sandbox>>& sandboxes) {
  if (options_.cgroups->layout() == linux::CgroupLayout::kV2) return;
  std::set<std::string> groups;  // a parent's path is before those of its groups
  for (const auto& sandbox : sandboxes) {
    const SandboxRecord record = sandbox->Snapshot();
    groups.insert(record.owned_cgroups.begin(), record.owned_cgroups.end());
  }
  for (const std::string& group : groups) {
    const absl::Status done =
        options_.cgroups->Apply(group, {.cpuset_cpus = "", .cpuset_mems = ""});
    if (!absl::IsNotFound(done)) Warn("", "", done);
  }
}

void EngineImpl::FollowShare(const Sandbox& sandbox) {
  const SandboxRecord record = sandbox.Snapshot();
  if (record.pause.pid == 0 || record.state != SandboxState::kReady) return;
  const std::string group = PauseCgroupOf(record);
  absl::Status done = options_.cgroups->Apply(
      group, Follow(linux::CgroupSettings(), CurrentShare().share).settings);
  if (done.ok()) done = options_.cgroups->ReturnToCpuset(group);
  if (!absl::IsNotFound(done)) Warn(sandbox.id, "", done);
}

void EngineImpl::FollowShare(Container& container) {
  absl::MutexLock alone(&container.cpuset);
  const ContainerRecord record = container.Snapshot();
  if (!HasProcess(record)) return;
  Confined confined = Follow(record.spec.resources, CurrentShare().share);
  std::optional<absl::ReaderMutexLock> no_reload;
  if (options_.classes != nullptr) no_reload.emplace(&options_.classes->definitions());
  LeaveOut(ClassFiles(record.id), &confined.settings);
  std::vector<std::string> told;  // when it was made or updated
  confined.settings = FitSettings(confined.settings, *options_.runtime, &told);
  absl::Status done = options_.cgroups->Apply(record.cgroup_path, confined.settings);
  // Those that had no CPU left are there again before anybody is told.
  if (done.ok()) done = options_.cgroups->ReturnToCpuset(record.cgroup_path);
  if (absl::IsNotFound(done)) return;  // it has just ended
  if (!done.ok()) {
    return Warn(record.sandbox_id, record.id, Annotate(done, "give it its part of the node"));
  }
  SeeGroup(container);
  TellLost(container, confined);
}

}  // namespace plimsoll::runtime
