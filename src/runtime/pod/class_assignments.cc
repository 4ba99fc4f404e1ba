#include "runtime/pod/class_assignments.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "runtime/cgroups/class_files.h"
#include "runtime/cgroups/group_settings.h"
#include "runtime/cgroups/pod_group_settings.h"
#include "runtime/objects/state_machine.h"
#include "runtime/objects/update_mark.h"
#include "runtime/oci/fit.h"
#include "runtime/spec/json.h"

namespace plimsoll::runtime {
namespace {

constexpr char kCpuWeight[] = "cpu.weight";
constexpr absl::Duration kReleasesTake = absl::Seconds(5);  // at most

std::map<std::string, qos::EffectiveClass> AsRecorded(const qos::HeldClasses& held) {
  std::map<std::string, qos::EffectiveClass> classes;
  for (const auto& [type, one] : held) {
    if (!one.name.empty()) classes[type] = {one.name, one.implicit, ""};
  }
  return classes;
}

// True if `later` is another attempt at the same container, and `earlier` waits for a start that
// won't come. A client that lost its state makes the next attempt beside the one that it never
// started.
bool Supersedes(const ContainerRecord& later, const ContainerRecord& earlier) {
  return earlier.state == ContainerState::kCreated && !earlier.classes.empty() &&
         later.sandbox_id == earlier.sandbox_id && later.spec.name == earlier.spec.name &&
         later.spec.attempt > earlier.spec.attempt;
}

bool HasLiveContainers(const Objects& objects, const std::string& sandbox_id) {
  return absl::c_any_of(objects.ContainersOf(sandbox_id),
                        [](const auto& container) { return HasProcess(container->Snapshot()); });
}

// True if `held` results from undoing the change that is under way in `changing`.
bool IsUndone(const qos::HeldClasses& changing, const qos::HeldClasses& held) {
  return absl::c_any_of(changing, [&held](const auto& one) {
    const auto& [type, change] = one;
    if (change.changing_to.empty()) return false;
    const auto now = held.find(type);
    if (now == held.end()) return change.name.empty();
    return now->second.changing_to.empty() && now->second.name == change.name;
  });
}

// True if the container gave up its classes to a later attempt.
bool HasGivenUp(const qos::Registry& classes, const qos::Target& target,
                const ContainerRecord& record) {
  const bool had_any =
      absl::c_any_of(record.classes, [](const auto& held) { return !held.second.name.empty(); });
  return record.state == ContainerState::kCreated && had_any &&
         classes.Effective(target, /*look=*/false).empty();
}

// Takes the classes again that the container gave up to a later attempt. False: it gave up none.
// Errors as of Reserve and Enforce; then it is in no class.
absl::StatusOr<bool> TakeAgain(qos::Registry& classes, const qos::Target& target,
                               const ContainerRecord& record, Container& container)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(container.classes) {
  if (!HasGivenUp(classes, target, record)) return false;
  qos::ClassNames asked;
  for (const auto& [type, held] : record.classes) {
    if (!held.implicit && !held.name.empty()) asked[type] = held.name;
  }
  const absl::StatusOr<qos::HeldClasses> held =
      classes.Reserve(qos::Level::kContainer, record.id, target.name, asked);
  absl::Status taken = held.status();
  if (taken.ok()) {
    taken = classes.Enforce(target);
    if (!taken.ok()) classes.Cancel(record.id);
  }
  if (!taken.ok()) {
    return Annotate(taken,
                    absl::StrCat("container ", record.spec.name, " (attempt ", record.spec.attempt,
                                 ") gave up its classes to a later attempt"));
  }
  absl::MutexLock lock(&container.mutex);
  container.record.classes = *held;
  return true;
}

}  // namespace

qos::Target ClassAssignments::TargetOf(const ContainerRecord& record) const {
  qos::Target target;
  target.level = qos::Level::kContainer;
  target.id = record.id;
  target.name = absl::StrCat("container ", record.spec.name, " (", record.id.substr(0, 12), ")");
  target.cgroup_path = record.cgroup_path;
  target.init = record.init;
  target.underlying = [presence = presence_, id = record.id, resources = record.spec.resources,
                       adj = record.spec.oom_score_adj](absl::string_view file) {
    std::optional<std::string> value = AskedValue(resources, adj, file);
    presence->With([&](const ClassAssignments& present) {
      const auto container = present.objects_->FindContainer(id);
      ContainerSpec now;
      now.resources = resources;  // while it is being made or recovered
      now.oom_score_adj = adj;
      if (container.ok()) now = (*container)->Snapshot().spec;
      present.confinement_->PutIntoShare(&now.resources);
      // When the class goes, the value is written as an update would write it.
      std::vector<std::string> told;
      now.resources = FitSettings(now.resources, present.options_.runtime->machine(), &told);
      now.oom_score_adj =
          FitOomScoreAdj(now.oom_score_adj, present.options_.runtime->machine(), &told);
      if (file == kCpuWeight) {
        now.resources = WithWeight(*present.options_.cgroups, *present.options_.runtime, id,
                                   std::move(now.resources));
      }
      value = AskedValue(now.resources, now.oom_score_adj, file);
    });
    return value;
  };
  target.entering = [presence = presence_, id = record.id] {
    std::vector<pid_t> pids;
    presence->With([&](const ClassAssignments& present) {
      pids = present.options_.runtime->EnteringProcesses(id);
    });
    return pids;
  };
  return target;
}

qos::Target ClassAssignments::TargetOf(const SandboxRecord& record) const {
  qos::Target target;
  target.level = qos::Level::kPod;
  target.id = record.id;
  target.name = absl::StrCat("pod ", record.spec.pod_namespace, "/", record.spec.name, " (",
                             record.id.substr(0, 12), ")");
  target.cgroup_path = record.cgroup_path;
  target.underlying = [presence = presence_, id = record.id,
                       settings = PodGroupSettings(record.spec)](absl::string_view file) {
    std::optional<std::string> value = AskedValue(settings, 0, file);
    presence->With([&](const ClassAssignments& present) {
      const auto sandbox = present.objects_->FindSandbox(id);
      if (!sandbox.ok()) return;  // while it is being made or recovered
      linux::CgroupSettings now = PodGroupSettings((*sandbox)->Snapshot().spec);
      if (file == kCpuWeight) {
        now = WithWeight(*present.options_.cgroups, *present.options_.runtime, "", std::move(now));
      }
      value = AskedValue(now, 0, file);
    });
    return value;
  };
  return target;
}

absl::Status ClassAssignments::Reserve(SandboxRecord* record) const {
  if (options_.classes == nullptr || !options_.assign_classes) return absl::OkStatus();
  const SandboxSpec& spec = record->spec;
  ReleaseRemains(*record);
  PLIMSOLL_ASSIGN_OR_RETURN(
      record->classes, options_.classes->Reserve(
                           qos::Level::kPod, record->id,
                           absl::StrCat("pod ", spec.pod_namespace, "/", spec.name), spec.classes));
  return absl::OkStatus();
}

absl::Status ClassAssignments::Reserve(ContainerRecord* record) {
  if (options_.classes == nullptr || !options_.assign_classes) return absl::OkStatus();
  const ContainerSpec& spec = record->spec;
  ReleaseEarlierAttempts(*record);
  // Waits before the first try: the registry counts each refusal.
  const bool releases_under_way = [this] {
    absl::MutexLock lock(&mutex_);
    return !releases_.empty();
  }();
  if (releases_under_way) AwaitReleases(FullClasses(spec.classes));
  PLIMSOLL_ASSIGN_OR_RETURN(
      record->classes,
      options_.classes->Reserve(qos::Level::kContainer, record->id,
                                absl::StrCat("container ", spec.name), spec.classes));
  return absl::OkStatus();
}

void ClassAssignments::ReleaseRemains(const SandboxRecord& pod) const {
  for (const std::shared_ptr<Sandbox>& older : objects_->RemainsOf(pod)) {
    // Another call that has the lock stops or removes it, and releases these itself.
    if (!older->operation.TryLock()) continue;
    if (!HasLiveContainers(*objects_, older->id)) Release(older->Snapshot());
    older->operation.Unlock();
  }
}

void ClassAssignments::ReleaseUnstarted(Container& container) const {
  if (!container.operation.TryLock()) return;
  {
    absl::MutexLock lock(&container.classes);
    const ContainerRecord record = container.Snapshot();
    if (record.state == ContainerState::kCreated) Release(record);
  }
  container.operation.Unlock();
}

void ClassAssignments::ReleaseEarlierAttempts(const ContainerRecord& later) const {
  for (const std::shared_ptr<Container>& other : objects_->ContainersOf(later.sandbox_id)) {
    if (Supersedes(later, other->Snapshot())) ReleaseUnstarted(*other);
  }
}

void ClassAssignments::ReleaseSuperseded() const {
  if (options_.classes == nullptr) return;
  for (const std::shared_ptr<Container>& container : objects_->Containers()) {
    const ContainerRecord earlier = container->Snapshot();
    if (earlier.state != ContainerState::kCreated || earlier.classes.empty()) continue;
    const auto all = objects_->ContainersOf(earlier.sandbox_id);
    const bool is_superseded = absl::c_any_of(all, [&earlier](const auto& other) {
      const ContainerRecord later = other->Snapshot();
      // A creation or removal that was cut off supersedes nothing.
      return later.state != ContainerState::kRemoving && Supersedes(later, earlier);
    });
    if (is_superseded) ReleaseUnstarted(*container);
  }
}

absl::Status ClassAssignments::Retake(Container& container) const {
  if (options_.classes == nullptr) return absl::OkStatus();
  absl::MutexLock alone(&container.classes);
  const ContainerRecord record = container.Snapshot();
  return TakeAgain(*options_.classes, TargetOf(record), record, container).status();
}

std::vector<ClassHolder> ClassAssignments::Holders() const {
  std::vector<ClassHolder> holders;
  if (options_.classes == nullptr) return holders;
  for (const qos::TypeReport& type : options_.classes->Describe()) {
    for (const qos::ClassUse& use : type.classes) {
      absl::MutexLock lock(&mutex_);
      if (releases_.contains({type.name, use.info.name})) continue;
      for (const qos::TargetName& holder : use.holders) {
        holders.push_back({type.level, holder.id, absl::StrCat(type.name, " ", use.info.name)});
      }
    }
  }
  return holders;
}

absl::Status ClassAssignments::Enforce(const SandboxRecord& record) const {
  return options_.classes == nullptr ? absl::OkStatus()
                                     : options_.classes->Enforce(TargetOf(record));
}

absl::Status ClassAssignments::Enforce(const ContainerRecord& record) const {
  return options_.classes == nullptr ? absl::OkStatus()
                                     : options_.classes->Enforce(TargetOf(record));
}

void ClassAssignments::Cancel(const std::string& id) const {
  if (options_.classes != nullptr) options_.classes->Cancel(id);
}

void ClassAssignments::Release(const SandboxRecord& record) const {
  if (options_.classes == nullptr) return;
  options_.events->Warn(record.id, "", options_.classes->Release(TargetOf(record)));
}

void ClassAssignments::Release(const ContainerRecord& record) const {
  if (options_.classes == nullptr) return;
  options_.events->Warn(record.sandbox_id, record.id, options_.classes->Release(TargetOf(record)));
}

absl::Status ClassAssignments::Adopt(SandboxRecord* record, bool* changed) const {
  return Adopt(TargetOf(*record), &record->classes, changed);
}

absl::Status ClassAssignments::Adopt(ContainerRecord* record, bool* changed) const {
  return Adopt(TargetOf(*record), &record->classes, changed);
}

absl::Status ClassAssignments::Adopt(const qos::Target& target, qos::HeldClasses* held,
                                     bool* changed) const {
  *changed = false;
  if (options_.classes == nullptr || held->empty()) return absl::OkStatus();
  const qos::HeldClasses before = *held;
  const absl::Status adopted = options_.classes->Adopt(target, held);
  *changed = *held != before;
  return adopted;
}

std::shared_ptr<void> ClassAssignments::AnnounceRelease(const qos::HeldClasses& held) {
  Places places;
  for (const auto& [type, one] : held) places.emplace(type, one.name);
  absl::MutexLock lock(&mutex_);
  releases_.insert(places.begin(), places.end());
  return {nullptr, [this, places](void*) {
            absl::MutexLock end(&mutex_);
            for (const auto& place : places) releases_.erase(releases_.find(place));
          }};
}

ClassAssignments::Places ClassAssignments::FullClasses(const qos::ClassNames& asked) const {
  Places full;
  for (const qos::TypeReport& type : options_.classes->Describe()) {
    if (type.level != qos::Level::kContainer) continue;
    const auto named = asked.find(type.name);
    const bool by_default = named == asked.end() || named->second.empty();
    const std::string& wanted = by_default ? type.default_class : named->second;
    for (const qos::ClassUse& use : type.classes) {
      const uint64_t capacity = use.info.capacity;
      if (use.info.name != wanted || capacity == 0 || use.holders.size() < capacity) continue;
      full.emplace(type.name, wanted);
    }
  }
  return full;
}

void ClassAssignments::AwaitReleases(const Places& places) {
  const auto none = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (const auto& place : places) {
      if (releases_.contains(place)) return false;
    }
    return true;
  };
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&none), kReleasesTake);
}

void ClassAssignments::ReleaseAtExit(const std::shared_ptr<Container>& container,
                                     const std::shared_ptr<void>& announced) {
  const ContainerRecord record = container->Snapshot();
  if (options_.classes == nullptr || record.classes.empty() ||
      record.state != ContainerState::kExited) {
    return;
  }
  const auto release = [this, container, announced, record] {
    absl::MutexLock lock(&container->classes);
    Release(record);
  };
  if (!releasers_.TrySchedule(release)) release();
}

qos::HeldClasses ClassAssignments::ChangingTo(const qos::HeldClasses& held,
                                              const qos::ClassNames& asked) const {
  qos::HeldClasses changing;
  if (options_.classes == nullptr || asked.empty()) return changing;
  for (const qos::TypeReport& type : options_.classes->Describe()) {
    const auto named = asked.find(type.name);
    if (type.level != qos::Level::kContainer || named == asked.end()) continue;
    qos::HeldClass& one = changing[type.name];
    if (const auto has = held.find(type.name); has != held.end()) one = has->second;
    const std::string& wanted = named->second.empty() ? type.default_class : named->second;
    one.implicit = false;
    one.changing_to = wanted == one.name ? "" : wanted;
  }
  return changing;
}

absl::Status ClassAssignments::FinishChange(ContainerRecord* record, bool* changed) const {
  *changed = false;
  constexpr char kWhat[] = "finish an interrupted change of classes";
  const absl::StatusOr<std::string> mark =
      options_.run.Read(UpdateMarkOf(ClassesMarkIdOf(record->id)));
  if (options_.classes == nullptr || absl::IsNotFound(mark.status())) return absl::OkStatus();
  if (!mark.ok()) return Annotate(mark.status(), kWhat);
  const absl::StatusOr<qos::HeldClasses> changing = HeldClassesFromJson(*mark);
  if (!changing.ok()) return Annotate(changing.status(), kWhat);
  // The row names the change from the write of the limits until the kernel has all of it.
  const auto is_due = [record](const std::string& type, const qos::HeldClass& change) {
    const auto held = record->classes.find(type);
    return held != record->classes.end() && !change.changing_to.empty() &&
           held->second.name == change.name && held->second.changing_to == change.changing_to;
  };
  *changed =
      absl::c_any_of(*changing, [&](const auto& one) { return is_due(one.first, one.second); });
  if (!*changed) return absl::OkStatus();
  for (const auto& [type, change] : *changing) {
    const auto held = record->classes.find(type);
    if (held == record->classes.end()) continue;
    if (is_due(type, change)) {
      // Makes the new class the one that Registry::Adopt puts back.
      std::swap(held->second.name, held->second.changing_to);
      if (held->second.changing_to.empty()) held->second.changing_to = held->second.name;
    }
    held->second.implicit = false;
  }
  return absl::OkStatus();
}

absl::Status ClassAssignments::Save(Container& container, const qos::HeldClasses& held) const {
  absl::MutexLock lock(&container.mutex);
  ContainerRecord changed = container.record;
  changed.classes = held;
  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutContainer(changed));
  container.record = std::move(changed);
  return absl::OkStatus();
}

absl::Status ClassAssignments::Save(Sandbox& sandbox, const qos::HeldClasses& held) const {
  absl::MutexLock lock(&sandbox.mutex);
  SandboxRecord changed = sandbox.record;
  changed.classes = held;
  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(changed));
  sandbox.record = std::move(changed);
  return absl::OkStatus();
}

absl::Status ClassAssignments::Save(const qos::Target& target, const qos::HeldClasses& held) const {
  if (target.level == qos::Level::kPod) {
    const auto sandbox = objects_->FindSandbox(target.id);
    return sandbox.ok() ? Save(**sandbox, held) : absl::OkStatus();
  }
  const auto container = objects_->FindContainer(target.id);
  return container.ok() ? Save(**container, held) : absl::OkStatus();
}

void ClassAssignments::SaveReloads() {
  if (options_.classes == nullptr) return;
  options_.classes->SaveWith([presence = presence_](const qos::Target& target,
                                                    const qos::HeldClasses& held) {
    absl::Status status;
    presence->With([&](const ClassAssignments& present) { status = present.Save(target, held); });
    return status;
  });
}

absl::Status ClassAssignments::CheckChange(const ContainerRecord& record,
                                           const qos::ClassNames& asked) const {
  if (options_.classes == nullptr || asked.empty()) return absl::OkStatus();
  return options_.classes->CheckChange(TargetOf(record), asked);
}

absl::Status ClassAssignments::Change(Container& container, const qos::ClassNames& asked) const {
  if (asked.empty()) return absl::OkStatus();
  absl::MutexLock alone(&container.classes);
  const ContainerRecord record = container.Snapshot();
  if (!HasProcess(record)) {
    return absl::FailedPreconditionError(absl::StrCat("container ", record.id, " has just ended"));
  }
  if (options_.classes == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("container ", record.spec.name, ": there are no QoS classes on this node"));
  }
  const qos::Target target = TargetOf(record);
  // Else the row would have the changed types alone, and the start would take no others again.
  PLIMSOLL_ASSIGN_OR_RETURN(const bool has_retaken,
                            TakeAgain(*options_.classes, target, record, container));
  const auto save = [&](const qos::HeldClasses& held) {
    // After an undone change the row still has the update's limits, and its change under way says
    // that the whole update is to be finished. The update's undoing then writes the old classes and
    // the old limits at once.
    return IsUndone(record.classes, held) ? absl::OkStatus() : Save(container, held);
  };
  absl::Status changed = options_.classes->Change(target, asked, save);
  if (!changed.ok() && has_retaken) Release(record);  // a failed change leaves all as it was
  return changed;
}

absl::Status ClassAssignments::Change(Sandbox& sandbox, const qos::ClassNames& asked) const {
  const SandboxRecord record = sandbox.Snapshot();
  if (record.state != SandboxState::kReady) {
    return absl::FailedPreconditionError(absl::StrCat("sandbox ", record.id, " is ",
                                                      StateName(record.state),
                                                      "; its classes change while Ready"));
  }
  if (asked.empty()) return absl::OkStatus();
  if (options_.classes == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("sandbox ", record.id, ": there are no QoS classes on this node"));
  }
  return options_.classes->Change(
      TargetOf(record), asked, [&](const qos::HeldClasses& held) { return Save(sandbox, held); });
}

ClassAssignments::Effective ClassAssignments::EffectiveOf(const ContainerRecord& record,
                                                          bool look) const {
  if (options_.classes == nullptr || !HasProcess(record)) return AsRecorded(record.classes);
  return options_.classes->Effective(TargetOf(record), look);
}

ClassAssignments::Effective ClassAssignments::EffectiveOf(const SandboxRecord& record,
                                                          bool look) const {
  if (options_.classes == nullptr || record.state != SandboxState::kReady) {
    return AsRecorded(record.classes);
  }
  return options_.classes->Effective(TargetOf(record), look);
}

std::vector<std::string> ClassAssignments::EntryFiles(const ContainerRecord& record) const {
  if (options_.classes == nullptr) return {};
  return options_.classes->EntryFiles(TargetOf(record));
}

}  // namespace plimsoll::runtime
