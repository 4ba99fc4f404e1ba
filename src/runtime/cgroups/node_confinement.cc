#include "runtime/cgroups/node_confinement.h"

#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "linux/cgroup/tree.h"
#include "resources/cpu_set.h"
#include "runtime/cgroups/class_files.h"
#include "runtime/cgroups/cpuset_check.h"
#include "runtime/cgroups/group_paths.h"
#include "runtime/cgroups/last_values.h"
#include "runtime/objects/state_machine.h"
#include "runtime/oci/fit.h"

namespace plimsoll::runtime {
namespace {

using resources::CpuSet;

// "CPUs 2-5 and memory nodes 0"; empty lists are left out.
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

// Advice for a cpuset that kubelet's CPU manager chose: it gives out all CPUs but those it is asked
// to reserve, and repeats a refused request for ever.
std::string WhatKubeletNeeds(const FsRoot& host, const linux::CgroupSettings& asked,
                             const NodeShare& share) {
  const auto wanted = CpuSet::Parse(asked.cpuset_cpus.value_or(""));
  if (!wanted.ok() || wanted->IsSubsetOf(share.cpus)) return "";
  const auto text = host.Read("sys/devices/system/cpu/online");
  if (!text.ok()) return "";
  const auto online = CpuSet::Parse(*text);
  if (!online.ok()) return "";
  const CpuSet others = online->Difference(share.cpus);
  if (others.Empty()) return "";
  return absl::StrCat(
      "; where kubelet's CPU manager chose them, its configuration needs ",
      "reservedSystemCPUs: \"", others.ToString(),
      "\" and cpuManagerPolicyOptions: ", "{strict-cpu-reservation: \"true\"} (docs/topology.md)");
}

constexpr const char* kCpusetFiles[] = {"cpuset.cpus", "cpuset.mems"};  // of cgroup v2

// Clips the lists of a pod's own group to the share. Empty ones stay empty: the group above has
// them.
void ClipOwn(const NodeShare& share, linux::CgroupSettings* own) {
  const linux::CgroupSettings left = Follow(*own, share).settings;
  const auto clip = [own](std::optional<std::string>& list, const char* file,
                          const std::optional<std::string>& given) {
    if (!given.has_value()) return;
    if (!list.value_or("").empty()) list = given;
    const auto raw = own->unified.find(file);
    if (raw != own->unified.end() && !raw->second.empty()) raw->second = *given;
  };
  clip(own->cpuset_cpus, kCpusetFiles[0], left.cpuset_cpus);
  clip(own->cpuset_mems, kCpusetFiles[1], left.cpuset_mems);
}

// The cpuset that a pod's own group is given.
linux::CgroupSettings OwnCpuset(const SandboxRecord& pod, const NodeShare& share) {
  linux::CgroupSettings own = {.cpuset_cpus = pod.spec.resources.cpuset_cpus.value_or(""),
                               .cpuset_mems = pod.spec.resources.cpuset_mems.value_or("")};
  ClipOwn(share, &own);
  return own;
}

// CPUs that the machine has and that were taken offline; none where it doesn't say.
CpuSet OfflineCpus(const FsRoot& host) {
  const auto list = [&host](const char* file) {
    const auto text = host.Read(absl::StrCat("sys/devices/system/cpu/", file));
    return text.ok() ? CpuSet::Parse(*text) : absl::StatusOr<CpuSet>(text.status());
  };
  const absl::StatusOr<CpuSet> present = list("present");
  const absl::StatusOr<CpuSet> online = list("online");
  return present.ok() && online.ok() ? present->Difference(*online) : CpuSet();
}

// The pod's group and those above, except the root and groups that were made for pods here.
std::vector<std::string> ParentsOfOthers(const SandboxRecord& pod) {
  std::vector<std::string> groups = linux::GroupAndParents(pod.cgroup_path);
  std::erase_if(groups, [&pod](const std::string& group) {
    return group.empty() || group == "/" || absl::c_linear_search(pod.owned_cgroups, group);
  });
  return groups;
}

// Narrows the set to the list. An empty set stays empty: nothing is known of the node then.
void Narrow(const std::optional<std::string>& list, CpuSet* set) {
  const auto own = CpuSet::Parse(list.value_or(""));
  if (!set->Empty() && own.ok() && !own->Empty()) *set = *own;
}

}  // namespace

void NodeConfinement::Load(const std::string& boot_id) {
  absl::MutexLock lock(&mutex_);
  told_.Load(options_.run, boot_id);
}

void NodeConfinement::SetShare(const NodeShare& share) {
  absl::Status kept;
  bool changed = false;
  {
    absl::MutexLock lock(&mutex_);
    changed = share != share_;
    const bool is_due = changed || has_left_out_;
    if (!is_due && options_.cgroups->layout() == linux::CgroupLayout::kV2) return;
    if (is_due) ++epoch_;
    has_left_out_ = false;
    share_ = share;
    kept = told_.Add(share);
  }
  options_.events->Warn("", "", kept);
  if (changed && !share.is_whole && !HasCpusets()) {
    options_.events->Warn("", "",
                          absl::FailedPreconditionError(
                              "nodeResources is reported, but not enforced: this machine has "
                              "no cgroup controller \"cpuset\""));
  }
  if (follow_is_due_.exchange(true)) return;
  const auto follow = [this] {
    follow_is_due_ = false;
    FollowAll();
  };
  if (!follower_.TrySchedule(follow)) follow();
}

void NodeConfinement::RefuseOutside(bool refuse) {
  absl::MutexLock lock(&mutex_);
  outside_ = refuse ? OutsideShare::kRefuse : OutsideShare::kClip;
}

bool NodeConfinement::HasCpusets() const {
  return absl::c_linear_search(options_.cgroups->Controllers(), "cpuset");
}

NodeConfinement::ShareNow NodeConfinement::Current() const {
  const CpuSet offline = OfflineCpus(options_.host);
  absl::MutexLock lock(&mutex_);
  // A whole share refuses nothing: CPUs that went from a share that stood in for it are clipped
  // too.
  ShareNow now = {share_, share_.is_whole ? told_.in_force() : told_.sum(), outside_, epoch_};
  const CpuSet there = share_.cpus.Difference(offline);
  if (there != share_.cpus && !there.Empty()) {
    now.share.cpus = there;
    now.told.cpus = now.told.cpus.Union(share_.cpus);
    has_left_out_ = true;
  }
  // They may have been pods' before this daemon: no share covers the time until its first start.
  if (share_.is_whole) now.told.cpus = now.told.cpus.Union(offline);
  return now;
}

void NodeConfinement::KeepTold() {
  absl::MutexLock lock(&mutex_);
  told_.Retry().IgnoreError();  // the event log has its first failure
}

absl::StatusOr<Confined> NodeConfinement::ConfineAsked(const linux::CgroupSettings& asked,
                                                       const ShareNow& now, bool is_new) {
  KeepTold();
  // CPUs that this machine lacks are a mistake, except for a partial share that clips: they are
  // clipped too.
  if (now.share.is_whole || now.outside == OutsideShare::kRefuse) {
    PLIMSOLL_RETURN_IF_ERROR(CheckCpuset(options_.host, asked, now.told));
  }
  if (!HasCpusets()) return Confined{asked, ""};
  absl::StatusOr<Confined> confined = Confine(asked, now.share, now.told, now.outside, is_new);
  if (!absl::IsFailedPrecondition(confined.status())) return confined;
  // Nothing is left after clipping. If the machine lacks the CPUs asked for, that is the mistake.
  PLIMSOLL_RETURN_IF_ERROR(CheckCpuset(options_.host, asked, now.told));
  return absl::FailedPreconditionError(
      absl::StrCat(confined.status().message(), WhatKubeletNeeds(options_.host, asked, now.share)));
}

void NodeConfinement::PutIntoShare(linux::CgroupSettings* asked) const {
  const linux::CgroupSettings given = Follow(*asked, Current().share).settings;
  if (!given.cpuset_cpus.value_or("").empty()) asked->cpuset_cpus = given.cpuset_cpus;
  if (!given.cpuset_mems.value_or("").empty()) asked->cpuset_mems = given.cpuset_mems;
}

absl::StatusOr<std::string> NodeConfinement::CheckPod(const linux::CgroupSettings& asked) {
  linux::CgroupSettings lists = {.cpuset_cpus = asked.cpuset_cpus,
                                 .cpuset_mems = asked.cpuset_mems};
  for (const char* file : kCpusetFiles) {
    const auto raw = asked.unified.find(file);
    if (raw != asked.unified.end()) lists.unified.insert(*raw);
  }
  if (lists == linux::CgroupSettings()) return "";
  PLIMSOLL_ASSIGN_OR_RETURN(const Confined confined,
                            ConfineAsked(lists, Current(), /*is_new=*/false));
  return confined.lost;
}

void NodeConfinement::TellPodLost(const std::string& sandbox_id, const std::string& lost) const {
  if (lost.empty()) return;
  options_.events->Add(
      EventType::kWarning, sandbox_id, "",
      absl::StrCat("requested for the pod, but not on this node or not for pods (nodeResources): ",
                   lost));
}

void NodeConfinement::PutPodIntoShare(linux::CgroupSettings* asked) const {
  ClipOwn(Current().share, asked);
}

NodeShare NodeConfinement::ShareIn(const SandboxRecord& pod, const NodeShare& share) const {
  if (options_.cgroups->layout() == linux::CgroupLayout::kV2 || !OwnsItsGroup(pod)) return share;
  const linux::CgroupSettings own = OwnCpuset(pod, share);
  NodeShare in_pod = share;
  Narrow(own.cpuset_cpus, &in_pod.cpus);
  Narrow(own.cpuset_mems, &in_pod.memory_nodes);
  return in_pod;
}

void NodeConfinement::PutIntoPod(const std::string& sandbox_id, const linux::CgroupSettings& asked,
                                 const NodeShare& share, linux::CgroupSettings* given) const {
  const auto sandbox = objects_->FindSandbox(sandbox_id);
  if (!sandbox.ok()) return;
  const SandboxRecord pod = (*sandbox)->Snapshot();
  RememberParents(pod);
  const NodeShare in_pod = ShareIn(pod, share);
  const auto is_left = [](const std::optional<std::string>& list) {
    return list.value_or("").empty();
  };
  if (is_left(asked.cpuset_cpus) && !is_left(given->cpuset_cpus)) {
    given->cpuset_cpus = in_pod.cpus.ToString();
  }
  if (is_left(asked.cpuset_mems) && !is_left(given->cpuset_mems)) {
    given->cpuset_mems = in_pod.memory_nodes.ToString();
  }
}

void NodeConfinement::TellLost(Container& container, const Confined& confined) const {
  {
    absl::MutexLock lock(&container.mutex);
    if (container.lost_cpus == confined.lost) return;
    container.lost_cpus = confined.lost;
  }
  const std::string given = Described(confined.settings);
  if (confined.lost.empty()) {
    options_.events->Add(EventType::kContainerUpdated, container.sandbox_id, container.id,
                         absl::StrCat("has all requested CPUs and memory nodes again: ", given));
    return;
  }
  options_.events->Add(
      EventType::kWarning, container.sandbox_id, container.id,
      absl::StrCat("requested, but not on this node or not for pods (nodeResources): ",
                   confined.lost, "; it runs on ", given));
}

void NodeConfinement::FollowAll() const {
  if (!HasCpusets()) return;
  const std::vector<std::shared_ptr<Sandbox>> sandboxes = objects_->Sandboxes();
  const std::vector<std::shared_ptr<Container>> containers = objects_->Containers();
  FollowInPods(sandboxes);
  const auto later = FollowInParents(sandboxes);
  for (const auto& sandbox : sandboxes) FollowShare(*sandbox);
  for (const auto& container : containers) FollowShare(*container);
  for (const auto& [group, cpuset] : later) {
    const absl::Status done = options_.cgroups->Apply(group, cpuset);
    if (!absl::IsNotFound(done)) options_.events->Warn("", "", done);
  }
}

void NodeConfinement::FollowInPods(const std::vector<std::shared_ptr<Sandbox>>& sandboxes) const {
  if (options_.cgroups->layout() != linux::CgroupLayout::kV2) return;
  std::optional<absl::ReaderMutexLock> no_reload;
  if (options_.classes != nullptr) no_reload.emplace(&options_.classes->definitions());
  for (const auto& sandbox : sandboxes) {
    const SandboxRecord record = sandbox->Snapshot();
    if (!OwnsItsGroup(record)) continue;
    linux::CgroupSettings own = {.cpuset_cpus = record.spec.resources.cpuset_cpus,
                                 .cpuset_mems = record.spec.resources.cpuset_mems};
    if (own == linux::CgroupSettings()) continue;
    PutPodIntoShare(&own);
    LeaveOut(ClassFilesOf(options_.classes, record.id), &own);
    const absl::Status done = options_.cgroups->Apply(record.cgroup_path, own);
    if (!absl::IsNotFound(done)) options_.events->Warn(record.id, "", done);
  }
}

// On v1 a CPU that goes leaves every group for good: our groups get it back, outermost first. A pod
// with a cpuset of its own gets the rest of that cpuset; the kernel refuses it (EBUSY) as long as a
// group within has other CPUs.
std::map<std::string, linux::CgroupSettings> NodeConfinement::FollowInParents(
    const std::vector<std::shared_ptr<Sandbox>>& sandboxes) const {
  std::map<std::string, linux::CgroupSettings> later;
  if (options_.cgroups->layout() == linux::CgroupLayout::kV2) return later;
  std::optional<absl::ReaderMutexLock> no_reload;
  if (options_.classes != nullptr) no_reload.emplace(&options_.classes->definitions());
  const linux::CgroupSettings as_parent = {.cpuset_cpus = "", .cpuset_mems = ""};
  const NodeShare share = Current().share;
  std::map<std::string, linux::CgroupSettings> groups;  // a parent's path sorts before a child's
  std::set<std::string> of_others;
  for (const auto& sandbox : sandboxes) {
    const SandboxRecord record = sandbox->Snapshot();
    RememberParents(record);
    const std::vector<std::string> parents = ParentsOfOthers(record);
    of_others.insert(parents.begin(), parents.end());
    for (const std::string& group : record.owned_cgroups) groups.emplace(group, as_parent);
    if (!OwnsItsGroup(record)) continue;
    linux::CgroupSettings& own = groups[record.cgroup_path];
    own = OwnCpuset(record, share);
    LeaveOut(ClassFilesOf(options_.classes, record.id), &own);
  }
  // A group that was made for one pod is a parent for others.
  std::erase_if(of_others, [&groups](const std::string& group) { return groups.contains(group); });
  parents_.ForgetAllBut(of_others);
  for (const std::string& group : of_others) groups.emplace(group, as_parent);
  for (const auto& [group, cpuset] : groups) {
    if (of_others.contains(group)) {
      options_.events->Warn("", "", parents_.GiveBack(group));
      continue;
    }
    absl::Status done = options_.cgroups->Apply(group, cpuset);
    if (ErrnoOf(done) == EBUSY && cpuset != as_parent) {
      later.emplace(group, cpuset);
      done = options_.cgroups->Apply(group, as_parent);
    }
    if (!absl::IsNotFound(done)) options_.events->Warn("", "", done);
  }
  return later;
}

void NodeConfinement::RememberParents(const SandboxRecord& pod) const {
  if (options_.cgroups->layout() == linux::CgroupLayout::kV2 || !HasCpusets()) return;
  for (const std::string& group : ParentsOfOthers(pod)) parents_.Remember(group);
}

void NodeConfinement::FollowShare(const Sandbox& sandbox) const {
  const SandboxRecord record = sandbox.Snapshot();
  if (record.pause.pid == 0 || record.state != SandboxState::kReady) return;
  const std::string group = PauseCgroupOf(record);
  absl::Status done = options_.cgroups->Apply(
      group, Follow(linux::CgroupSettings(), ShareIn(record, Current().share)).settings);
  if (done.ok()) done = options_.cgroups->ReturnToCpuset(group);
  if (!absl::IsNotFound(done)) options_.events->Warn(sandbox.id, "", done);
}

void NodeConfinement::FollowShare(Container& container) const {
  absl::MutexLock alone(&container.cpuset);
  const ContainerRecord record = container.Snapshot();
  if (!HasProcess(record)) return;
  NodeShare share = Current().share;
  if (const auto pod = objects_->FindSandbox(record.sandbox_id); pod.ok()) {
    share = ShareIn((*pod)->Snapshot(), share);
  }
  Confined confined = Follow(record.spec.resources, share);
  std::optional<absl::ReaderMutexLock> no_reload;
  if (options_.classes != nullptr) no_reload.emplace(&options_.classes->definitions());
  LeaveOut(ClassFilesOf(options_.classes, record.id), &confined.settings);
  std::vector<std::string> told;  // unused: its creation or update has told them
  confined.settings = FitSettings(confined.settings, options_.runtime->machine(), &told);
  absl::Status done = options_.cgroups->Apply(record.cgroup_path, confined.settings);
  // Processes that the kernel moved away, for lack of CPUs, are back before anybody is notified.
  if (done.ok()) done = options_.cgroups->ReturnToCpuset(record.cgroup_path);
  if (absl::IsNotFound(done)) return;  // it has just ended
  if (!done.ok()) {
    return options_.events->Warn(record.sandbox_id, record.id,
                                 Annotate(done, "give it its part of the node"));
  }
  SeeGroup(*options_.cgroups, container);
  TellLost(container, confined);
}

}  // namespace plimsoll::runtime
