// QoS classes of sandboxes and containers: between the registry and the records.
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status.h"
#include "runtime/class_files.h"
#include "runtime/engine_impl.h"
#include "runtime/oci/fit.h"
#include "runtime/pod_group_settings.h"
#include "runtime/spec/json.h"
#include "runtime/state_machine.h"
#include "runtime/update_mark.h"

namespace plimsoll::runtime {
namespace {

constexpr absl::Duration kReleasesTake = absl::Seconds(5);  // at most

std::map<std::string, qos::EffectiveClass> AsRecorded(const qos::HeldClasses& held) {
  std::map<std::string, qos::EffectiveClass> classes;
  for (const auto& [type, one] : held) {
    if (!one.name.empty()) classes[type] = {one.name, one.implicit, ""};
  }
  return classes;
}

// Whether `held` is what a change has been undone to that was under way by `changing`.
bool IsUndone(const qos::HeldClasses& changing, const qos::HeldClasses& held) {
  return absl::c_any_of(changing, [&held](const auto& one) {
    const auto& [type, change] = one;
    if (change.changing_to.empty()) return false;
    const auto now = held.find(type);
    if (now == held.end()) return change.name.empty();
    return now->second.changing_to.empty() && now->second.name == change.name;
  });
}

}  // namespace

qos::Target EngineImpl::TargetOf(const ContainerRecord& record) {
  qos::Target target;
  target.level = qos::Level::kContainer;
  target.id = record.id;
  target.name = absl::StrCat("container ", record.spec.name, " (", record.id.substr(0, 12), ")");
  target.cgroup_path = record.cgroup_path;
  target.init = record.init;
  target.underlying = [presence = presence_, id = record.id, resources = record.spec.resources,
                       adj = record.spec.oom_score_adj](absl::string_view file) {
    std::optional<std::string> value = AskedValue(resources, adj, file);
    presence->With([&](EngineImpl& engine) {
      const auto container = engine.objects_.FindContainer(id);
      ContainerSpec now;
      now.resources = resources;  // while it is being made or recovered
      now.oom_score_adj = adj;
      if (container.ok()) now = (*container)->Snapshot().spec;
      engine.confinement_.PutIntoShare(&now.resources);
      // Written when the class goes, as an update would write it.
      std::vector<std::string> told;
      now.resources = FitSettings(now.resources, *engine.options_.runtime, &told);
      now.oom_score_adj = FitOomScoreAdj(now.oom_score_adj, *engine.options_.runtime, &told);
      value = AskedValue(now.resources, now.oom_score_adj, file);
    });
    return value;
  };
  target.entering = [presence = presence_, id = record.id] {
    std::vector<pid_t> pids;
    presence->With(
        [&](EngineImpl& engine) { pids = engine.options_.runtime->EnteringProcesses(id); });
    return pids;
  };
  return target;
}

qos::Target EngineImpl::TargetOf(const SandboxRecord& record) {
  qos::Target target;
  target.level = qos::Level::kPod;
  target.id = record.id;
  target.name = absl::StrCat("pod ", record.spec.pod_namespace, "/", record.spec.name, " (",
                             record.id.substr(0, 12), ")");
  target.cgroup_path = record.cgroup_path;
  target.underlying = [presence = presence_, id = record.id,
                       settings = PodGroupSettings(record.spec)](absl::string_view file) {
    std::optional<std::string> value = AskedValue(settings, 0, file);
    presence->With([&](EngineImpl& engine) {
      const auto sandbox = engine.objects_.FindSandbox(id);
      if (!sandbox.ok()) return;  // while it is being made or recovered
      value = AskedValue(PodGroupSettings((*sandbox)->Snapshot().spec), 0, file);
    });
    return value;
  };
  return target;
}

absl::Status EngineImpl::ReserveClasses(const SandboxSpec& spec, SandboxRecord* record) {
  if (options_.classes == nullptr || !options_.assign_classes) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(
      record->classes, options_.classes->Reserve(
                           qos::Level::kPod, record->id,
                           absl::StrCat("pod ", spec.pod_namespace, "/", spec.name), spec.classes));
  return absl::OkStatus();
}

absl::Status EngineImpl::ReserveClasses(const ContainerSpec& spec, ContainerRecord* record) {
  if (options_.classes == nullptr || !options_.assign_classes) return absl::OkStatus();
  // The place may be that of one that has just exited, whose successor this is. Looked at first: a
  // refusal counts as one.
  const bool releases_under_way = [this] {
    absl::MutexLock lock(&releases_mutex_);
    return !releases_.empty();
  }();
  if (releases_under_way) AwaitReleases(FullClasses(spec.classes));
  PLIMSOLL_ASSIGN_OR_RETURN(
      record->classes,
      options_.classes->Reserve(qos::Level::kContainer, record->id,
                                absl::StrCat("container ", spec.name), spec.classes));
  return absl::OkStatus();
}

absl::Status EngineImpl::EnforceClasses(const qos::Target& target) {
  return options_.classes == nullptr ? absl::OkStatus() : options_.classes->Enforce(target);
}

void EngineImpl::CancelClasses(const std::string& id) {
  if (options_.classes != nullptr) options_.classes->Cancel(id);
}

void EngineImpl::ReleaseClasses(const std::string& sandbox_id, const std::string& container_id,
                                const qos::Target& target) {
  if (options_.classes == nullptr) return;
  options_.events->Warn(sandbox_id, container_id, options_.classes->Release(target));
}

absl::Status EngineImpl::AdoptClasses(const qos::Target& target, qos::HeldClasses* held,
                                      bool* changed) {
  *changed = false;
  if (options_.classes == nullptr || held->empty()) return absl::OkStatus();
  const qos::HeldClasses before = *held;
  const absl::Status adopted = options_.classes->Adopt(target, held);
  *changed = *held != before;
  return adopted;
}

std::shared_ptr<void> EngineImpl::AnnounceRelease(const qos::HeldClasses& held) {
  ClassPlaces places;
  for (const auto& [type, one] : held) places.emplace(type, one.name);
  absl::MutexLock lock(&releases_mutex_);
  releases_.insert(places.begin(), places.end());
  return {nullptr, [this, places](void*) {
            absl::MutexLock end(&releases_mutex_);
            for (const auto& place : places) releases_.erase(releases_.find(place));
          }};
}

EngineImpl::ClassPlaces EngineImpl::FullClasses(const qos::ClassNames& asked) const {
  ClassPlaces full;
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

void EngineImpl::AwaitReleases(const ClassPlaces& places) {
  const auto none = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(releases_mutex_) {
    for (const auto& place : places) {
      if (releases_.contains(place)) return false;
    }
    return true;
  };
  absl::MutexLock lock(&releases_mutex_);
  releases_mutex_.AwaitWithTimeout(absl::Condition(&none), kReleasesTake);
}

void EngineImpl::ReleaseClassesAtExit(const std::shared_ptr<Container>& container,
                                      const std::shared_ptr<void>& announced) {
  const ContainerRecord record = container->Snapshot();
  // One that failed to be made is undone by who made it.
  if (options_.classes == nullptr || record.classes.empty() ||
      record.state != ContainerState::kExited) {
    return;
  }
  const auto release = [this, container, announced, target = TargetOf(record)] {
    absl::MutexLock lock(&container->classes);
    ReleaseClasses(container->sandbox_id, container->id, target);
  };
  if (!patient_.TrySchedule(release)) release();
}

qos::HeldClasses EngineImpl::ChangingTo(const qos::HeldClasses& held,
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

absl::Status EngineImpl::FinishClasses(ContainerRecord* record, bool* changed) const {
  *changed = false;
  constexpr char kWhat[] = "finish a change of classes that was cut off";
  const absl::StatusOr<std::string> mark =
      options_.run.Read(UpdateMarkOf(ClassesMarkIdOf(record->id)));
  if (options_.classes == nullptr || absl::IsNotFound(mark.status())) return absl::OkStatus();
  if (!mark.ok()) return Annotate(mark.status(), kWhat);
  const absl::StatusOr<qos::HeldClasses> changing = HeldClassesFromJson(*mark);
  if (!changing.ok()) return Annotate(changing.status(), kWhat);
  // The row says it once it is written with the limits, and until the kernel has all of it.
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
      // What is put back is the new class now: see Registry::Adopt.
      std::swap(held->second.name, held->second.changing_to);
      if (held->second.changing_to.empty()) held->second.changing_to = held->second.name;
    }
    held->second.implicit = false;
  }
  return absl::OkStatus();
}

absl::Status EngineImpl::SaveClasses(Container& container, const qos::HeldClasses& held) {
  absl::MutexLock lock(&container.mutex);
  ContainerRecord changed = container.record;
  changed.classes = held;
  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutContainer(changed));
  container.record = std::move(changed);
  return absl::OkStatus();
}

absl::Status EngineImpl::SaveClasses(Sandbox& sandbox, const qos::HeldClasses& held) {
  absl::MutexLock lock(&sandbox.mutex);
  SandboxRecord changed = sandbox.record;
  changed.classes = held;
  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(changed));
  sandbox.record = std::move(changed);
  return absl::OkStatus();
}

void EngineImpl::SaveClassesOfReloads() {
  if (options_.classes == nullptr) return;
  options_.classes->SaveWith(
      [presence = presence_](const qos::Target& target, const qos::HeldClasses& held) {
        absl::Status status;
        presence->With([&](EngineImpl& engine) {
          if (target.level == qos::Level::kPod) {
            const auto sandbox = engine.objects_.FindSandbox(target.id);
            if (sandbox.ok()) status = engine.SaveClasses(**sandbox, held);
          } else {
            const auto container = engine.objects_.FindContainer(target.id);
            if (container.ok()) status = engine.SaveClasses(**container, held);
          }
        });
        return status;
      });
}

absl::Status EngineImpl::ChangeClasses(Container& container, const qos::ClassNames& classes) {
  if (classes.empty()) return absl::OkStatus();
  absl::MutexLock alone(&container.classes);
  const ContainerRecord record = container.Snapshot();
  if (!HasProcess(record)) {
    return absl::FailedPreconditionError(absl::StrCat("container ", record.id, " has just ended"));
  }
  if (options_.classes == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("container ", record.spec.name, ": there are no QoS classes on this node"));
  }
  return options_.classes->Change(TargetOf(record), classes, [&](const qos::HeldClasses& held) {
    // The row still has the update's limits, and says by the change under way that all of it is to
    // be finished. The update's undoing writes old classes and old limits in one (SaveAsked).
    if (IsUndone(record.classes, held)) return absl::OkStatus();
    return SaveClasses(container, held);
  });
}

absl::Status EngineImpl::UpdateSandboxClasses(absl::string_view id,
                                              const qos::ClassNames& classes) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, objects_.FindSandbox(id));
  absl::MutexLock operation(&sandbox->operation);
  const SandboxRecord record = sandbox->Snapshot();
  if (record.state != SandboxState::kReady) {
    return absl::FailedPreconditionError(absl::StrCat("sandbox ", record.id, " is ",
                                                      StateName(record.state),
                                                      "; its classes change while Ready"));
  }
  if (classes.empty()) return absl::OkStatus();
  if (options_.classes == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("sandbox ", record.id, ": there are no QoS classes on this node"));
  }
  return options_.classes->Change(TargetOf(record), classes, [&](const qos::HeldClasses& held) {
    return SaveClasses(*sandbox, held);
  });
}

absl::StatusOr<std::map<std::string, qos::EffectiveClass>> EngineImpl::ContainerClasses(
    absl::string_view id, bool look) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, objects_.FindContainer(id));
  const ContainerRecord record = container->Snapshot();
  if (options_.classes == nullptr || !HasProcess(record)) return AsRecorded(record.classes);
  return options_.classes->Effective(TargetOf(record), look);
}

absl::StatusOr<std::map<std::string, qos::EffectiveClass>> EngineImpl::SandboxClasses(
    absl::string_view id, bool look) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, objects_.FindSandbox(id));
  const SandboxRecord record = sandbox->Snapshot();
  if (options_.classes == nullptr || record.state != SandboxState::kReady) {
    return AsRecorded(record.classes);
  }
  return options_.classes->Effective(TargetOf(record), look);
}

}  // namespace plimsoll::runtime
