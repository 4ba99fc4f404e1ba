#include "qos/rdt/type.h"
#include "qos/class_file.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status.h"
#include "base/text/closest_word.h"
#include "linux/process.h"
#include "qos/rdt/reload.h"

namespace plimsoll::qos {
namespace {

// Forks in flight have ended by the first look, by the second even on a busy machine.
constexpr absl::Duration kFirstLook = absl::Milliseconds(50);
constexpr absl::Duration kSecondLook = absl::Seconds(1);

}  // namespace

absl::StatusOr<std::unique_ptr<ClassType>> MakeRdtType(const RdtOptions& options,
                                                       const RdtEnvironment& environment) {
  return RdtType::Create(options, environment);
}

absl::StatusOr<std::unique_ptr<RdtType>> RdtType::Create(const RdtOptions& options,
                                                         const RdtEnvironment& environment) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto resctrl, linux::Resctrl::Open(environment.resctrl_root));
  PLIMSOLL_ASSIGN_OR_RETURN(linux::ResctrlInfo machine, resctrl->ReadInfo());
  PLIMSOLL_ASSIGN_OR_RETURN(std::string boot_id, linux::ReadBootId(environment.host));
  std::unique_ptr<RdtType> type(new RdtType(options, environment, std::move(resctrl),
                                            std::move(machine), std::move(boot_id)));
  PLIMSOLL_RETURN_IF_ERROR(type->ownership_.Load());
  PLIMSOLL_ASSIGN_OR_RETURN(const RdtConfig config, type->ReadConfig());
  PLIMSOLL_ASSIGN_OR_RETURN(RdtClasses classes, type->groups_.Plan(config));
  PLIMSOLL_RETURN_IF_ERROR(type->CheckNames(classes));
  if (environment.warn != nullptr) {
    for (const std::string& warning : classes.warnings) environment.warn(warning);
  }
  std::set<std::string> missing = type->MissingIn(classes);
  absl::Status made = type->RemoveDeadMonitors();
  if (made.ok()) made = type->PutInForce(std::move(classes), {});
  // FAILED_PRECONDITION is reserved for a machine that can't have the type.
  if (absl::IsFailedPrecondition(made)) made = absl::InternalError(made.message());
  PLIMSOLL_RETURN_IF_ERROR(made);
  absl::MutexLock lock(&type->mutex_);
  type->made_at_start_ = std::move(missing);
  return type;
}

RdtType::RdtType(RdtOptions options, const RdtEnvironment& environment,
                 std::unique_ptr<linux::Resctrl> resctrl, linux::ResctrlInfo machine,
                 std::string boot_id)
    : options_(std::move(options)),
      environment_(environment),
      resctrl_(std::move(resctrl)),
      ownership_(resctrl_.get(), environment_.owned, std::move(boot_id)),
      monitors_(resctrl_.get(), &ownership_, machine.monitoring.has_value()),
      groups_(resctrl_.get(), &ownership_, std::move(machine),
              {.prefix = options_.group_prefix, .adopt = options_.adopt}),
      mover_(resctrl_.get(), environment_.cgroups, environment_.freezer, environment_.host),
      rechecks_(std::make_unique<RdtRechecks>(
          [this](const std::string& id, RdtRechecks::Kind kind) { Recheck(id, kind); })) {}

absl::StatusOr<RdtConfig> RdtType::ReadConfig() const {
  if (options_.config_file.empty()) return RdtConfig();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string text,
                            LoadClassFile(environment_.host, options_.config_file));
  return ParseRdtConfig(options_.config_file, text);
}

absl::Status RdtType::CheckNames(const RdtClasses& classes) const {
  std::vector<std::string> names;
  for (const auto& [name, group] : classes.by_name) names.push_back(name);
  const auto check = [&](const std::string& name, absl::string_view what) {
    if (classes.Find(name) != nullptr) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("rdt: ", what, " \"", name,
                                                   "\" is not a class; "
                                                   "there are: ",
                                                   absl::StrJoin(names, ", ")));
  };
  if (!options_.default_class.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(check(options_.default_class, "default class"));
  }
  for (const auto& [name, capacity] : options_.capacity) {
    PLIMSOLL_RETURN_IF_ERROR(check(name, "capacity:"));
  }
  return absl::OkStatus();
}

// Removes monitoring groups of containers that ended while no daemon lived. A living container has
// a thread in its group.
absl::Status RdtType::RemoveDeadMonitors() {
  for (const std::string& group : ownership_.Groups()) {
    if (!absl::StrContains(group, "mon_groups/")) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> threads, resctrl_->Threads(group));
    if (threads.empty()) PLIMSOLL_RETURN_IF_ERROR(ownership_.Remove(group));
  }
  return absl::OkStatus();
}

std::shared_ptr<const RdtClasses> RdtType::Current() const {
  absl::MutexLock lock(&mutex_);
  return classes_;
}

std::set<std::string> RdtType::MissingIn(const RdtClasses& classes) const {
  std::set<std::string> missing;
  for (const auto& [name, group] : classes.by_name) {
    if (!resctrl_->HasGroup(group.path)) missing.insert(name);
  }
  return missing;
}

absl::Status RdtType::PutInForce(RdtClasses classes, const Holders& holders) {
  const std::set<std::string> missing = MissingIn(classes);
  const absl::Status applied = groups_.Apply(classes);
  if (!applied.ok()) {
    const auto current = Current();
    if (current == nullptr) return applied;
    classes = *current;
    groups_.Reopen(classes);
  }
  {
    absl::MutexLock lock(&mutex_);
    classes_ = std::make_shared<const RdtClasses>(std::move(classes));
  }
  PLIMSOLL_RETURN_IF_ERROR(applied);
  for (const auto& [target, class_name] : holders) {
    // A container that can't be moved back shows as drift.
    if (missing.count(class_name) > 0) Return(target, class_name).IgnoreError();
  }
  return absl::OkStatus();
}

std::vector<ClassInfo> RdtType::classes() const {
  std::vector<ClassInfo> infos;
  const auto current = Current();
  for (const auto& [name, group] : current->by_name) {
    const auto capacity = options_.capacity.find(name);
    infos.push_back({.name = name,
                     .capacity = capacity == options_.capacity.end() ? 0 : capacity->second,
                     .meaning = group.meaning});
  }
  return infos;
}

std::vector<std::string> RdtType::warnings() const {
  std::vector<std::string> all = Current()->warnings;
  for (std::string& sentence : monitors_.Unmonitored()) all.push_back(std::move(sentence));
  for (std::string& sentence : mover_.freezer().Troubles()) all.push_back(std::move(sentence));
  return all;
}

absl::StatusOr<RdtClassGroup> RdtType::Need(absl::string_view class_name) const {
  const auto classes = Current();
  if (const RdtClassGroup* group = classes->Find(class_name)) return *group;
  std::vector<std::string> names;
  for (const auto& [name, group] : classes->by_name) names.push_back(name);
  return absl::NotFoundError(absl::StrCat("there is no rdt class \"", class_name,
                                          "\"; there are: ", absl::StrJoin(names, ", ")));
}

absl::Status RdtType::CheckSource(absl::string_view class_name, ClassSource source) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const RdtClassGroup group, Need(class_name));
  const bool pod = source == ClassSource::kPodAnnotation && group.deny_pod_annotation;
  const bool container =
      source == ClassSource::kContainerAnnotation && group.deny_container_annotation;
  if (!pod && !container) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "rdt class \"", class_name, "\" can't be taken from a ", pod ? "pod" : "container",
      "'s annotation (", pod ? "denyPodAnnotation" : "denyContainerAnnotation", " in ",
      options_.config_file, ")"));
}

std::shared_ptr<RdtType::Container> RdtType::ContainerOf(const std::string& id) {
  absl::MutexLock lock(&mutex_);
  std::shared_ptr<Container>& container = containers_[id];
  if (container == nullptr) container = std::make_shared<Container>();
  return container;
}

void RdtType::Forget(const std::string& id, Container& container) {
  container.gone = true;
  monitors_.Forget(id);
  absl::MutexLock lock(&mutex_);
  containers_.erase(id);
}

absl::Status RdtType::MoveTo(const Target& target, RdtPlace& place, RdtPlace& back, bool first) {
  const bool leaves = place.control_path != back.control_path;
  if (leaves) monitors_.Open(target.id, back);
  const std::string own = linux::MonitoringGroupPath(place.control_path, RdtMonitorName(target.id));
  const bool had_own = ownership_.IsOurs(own);
  absl::Status monitored = monitors_.Make(target.id, place);
  const auto move = mover_.Move(target, place, back, first);
  if (!move.ok()) {
    place.monitor.reset();
    if (!had_own && ownership_.IsOurs(own)) ownership_.Remove(own).IgnoreError();
    // The target's threads are in its old class. If the monitoring group there could not be opened,
    // they are no longer in it.
    rechecks_->After(kSecondLook, target.id, RdtRechecks::Kind::kMonitoring);
    return move.status();
  }
  const std::string old = linux::MonitoringGroupPath(back.control_path, RdtMonitorName(target.id));
  if (leaves && ownership_.IsOurs(old)) {
    // The old group is empty. If removal fails, the container's end or the next start retries it.
    back.monitor.reset();
    ownership_.Remove(old).IgnoreError();
    if (absl::IsResourceExhausted(monitored)) {  // the old group had the last id
      monitored = monitors_.Make(target.id, place);
      if (monitored.ok()) monitored = mover_.Monitor(target, place);
    }
  }
  if (!monitored.ok()) {
    monitors_.NoteUnmonitored(target, monitored.message());
    if (!absl::IsResourceExhausted(monitored)) {
      rechecks_->After(kSecondLook, target.id, RdtRechecks::Kind::kMonitoring);
    }
  } else if (!move->monitor_trouble.empty()) {
    monitors_.NoteUnmonitored(target, move->monitor_trouble);
  } else {
    monitors_.NoteMonitored(target);
  }
  if (!move->certain) rechecks_->After(kFirstLook, target.id, RdtRechecks::Kind::kClass);
  return absl::OkStatus();
}

absl::Status RdtType::Assign(const Target& target, absl::string_view from, absl::string_view to) {
  PLIMSOLL_ASSIGN_OR_RETURN(const RdtClassGroup to_group, Need(to));
  const auto classes = Current();
  const RdtClassGroup* from_group = classes->Find(from.empty() ? kRdtRootClass : from);
  if (from_group == nullptr) from_group = classes->Find(kRdtRootClass);

  const std::shared_ptr<Container> container = ContainerOf(target.id);
  absl::MutexLock lock(&container->mutex);
  RdtPlace place = {.control_path = to_group.path, .control = to_group.tasks};
  RdtPlace back = {.control_path = from_group->path, .control = from_group->tasks};
  const absl::Status moved = MoveTo(target, place, back, from.empty());
  if (!moved.ok()) {
    if (container->class_name.empty()) Forget(target.id, *container);
    return Annotate(moved, absl::StrCat(target.name, ": rdt class \"", to, "\""));
  }
  container->target = target;
  container->class_name = std::string(to);
  container->gone = false;
  return absl::OkStatus();
}

absl::Status RdtType::Return(const Target& target, const std::string& class_name) {
  PLIMSOLL_ASSIGN_OR_RETURN(const RdtClassGroup group, Need(class_name));
  const RdtClassGroup root = *Current()->Find(kRdtRootClass);
  const std::shared_ptr<Container> container = ContainerOf(target.id);
  absl::MutexLock lock(&container->mutex);
  RdtPlace place = {.control_path = group.path, .control = group.tasks};
  RdtPlace back = {.control_path = root.path, .control = root.tasks};
  return MoveTo(target, place, back, /*first=*/false);
}

absl::Status RdtType::Adopt(const Target& target, absl::string_view class_name,
                            const std::vector<std::string>& /*files*/) {
  const std::string name(class_name);
  bool is_new = false;
  {
    const std::shared_ptr<Container> container = ContainerOf(target.id);
    absl::MutexLock lock(&container->mutex);
    container->target = target;
    container->class_name = name;
    absl::MutexLock all(&mutex_);
    is_new = made_at_start_.count(name) > 0;
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const RdtClassGroup group, Need(name));
  if (is_new) return Return(target, name);
  RdtPlace place = {.control_path = group.path, .control = group.tasks};
  absl::Status monitored = monitors_.Make(target.id, place);
  if (monitored.ok()) monitored = mover_.Monitor(target, place);
  if (!monitored.ok()) monitors_.NoteUnmonitored(target, monitored.message());
  return absl::OkStatus();
}

absl::Status RdtType::Release(const Target& target, absl::string_view class_name) {
  const std::shared_ptr<Container> container = ContainerOf(target.id);
  absl::MutexLock lock(&container->mutex);
  Forget(target.id, *container);
  const auto classes = Current();
  const RdtClassGroup* const group = classes->Find(class_name);
  absl::Status status;
  // A living container goes on without a class: its threads move to the root group.
  if (group == nullptr || !group->path.empty()) {
    const auto threads = mover_.ThreadsOf(target);
    const RdtClassGroup& root = *classes->Find(kRdtRootClass);
    if (!threads.ok()) {
      status = threads.status();
    } else if (!threads->empty()) {
      const RdtPlace to = {.control_path = root.path, .control = root.tasks};
      status = mover_.Move(target, to, to, false).status();
    }
  }
  const std::string monitor = absl::StrCat("mon_groups/", RdtMonitorName(target.id));
  for (const std::string& path : ownership_.Groups()) {
    if (absl::EndsWith(path, monitor)) status = FirstError(status, ownership_.Remove(path));
  }
  return status;
}

// The class is checked twice after an uncertain move.
void RdtType::Recheck(const std::string& id, RdtRechecks::Kind kind) {
  std::shared_ptr<Container> container;
  {
    absl::MutexLock lock(&mutex_);
    const auto found = containers_.find(id);
    if (found == containers_.end()) return;
    container = found->second;
  }
  absl::MutexLock lock(&container->mutex);
  if (container->gone || container->class_name.empty()) return;
  const auto group = Need(container->class_name);
  if (!group.ok()) return;
  RdtPlace place = {.control_path = group->path, .control = group->tasks};
  // Errors show as drift, or as an earlier warning.
  if (kind == RdtRechecks::Kind::kMonitoring) {
    if (!monitors_.Make(id, place).ok() || !mover_.Monitor(container->target, place).ok()) return;
    monitors_.NoteMonitored(container->target);
    return;
  }
  monitors_.Open(id, place);
  mover_.Again(container->target, place).IgnoreError();
  if (kind == RdtRechecks::Kind::kClass) {
    rechecks_->After(kSecondLook, id, RdtRechecks::Kind::kClassAgain);
  }
}

std::string RdtType::GroupOfThread(pid_t thread) const {
  const auto groups = resctrl_->ControlGroups();
  if (!groups.ok()) return "another resctrl group";
  for (const std::string& group : *groups) {
    const auto threads = resctrl_->Threads(group);
    if (threads.ok() && std::binary_search(threads->begin(), threads->end(), thread)) {
      return absl::StrCat("resctrl group /", group);
    }
  }
  return "resctrl's root group";
}

absl::StatusOr<std::string> RdtType::Drift(const Target& target,
                                           absl::string_view class_name) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const RdtClassGroup group, Need(class_name));
  if (!resctrl_->HasGroup(group.path)) {
    return absl::StrCat("resctrl group /", group.path, " is gone");
  }
  if (!group.foreign) {
    PLIMSOLL_ASSIGN_OR_RETURN(const linux::Schemata now, resctrl_->ReadSchemata(group.path));
    const auto differences = linux::SchemataDifferences(group.schemata, now);
    if (!differences.empty()) {
      return absl::StrCat("resctrl group /", group.path, ": ", differences.front());
    }
  }
  if (std::string frozen = mover_.freezer().Trouble(target.cgroup_path); !frozen.empty()) {
    return frozen;
  }
  // In this order: a thread forked in between is in its parent's group.
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> threads, mover_.ThreadsOf(target));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pid_t> inside, resctrl_->Threads(group.path));
  for (const pid_t thread : threads) {
    if (std::binary_search(inside.begin(), inside.end(), thread) || !mover_.IsAlive(thread)) {
      continue;
    }
    return absl::StrCat("thread ", thread, " is in ", GroupOfThread(thread));
  }
  return std::string();
}

std::string RdtType::EntryFile(const Target& target, absl::string_view class_name) const {
  const auto group = Need(class_name);
  if (!group.ok()) return "";
  // That file leads into the class, but not into the container's monitoring group.
  if (monitors_.is_possible())
    rechecks_->After(kSecondLook, target.id, RdtRechecks::Kind::kMonitoring);
  return resctrl_->TasksPath(group->path);
}

std::map<std::string, uint64_t> RdtType::Measure(absl::string_view id,
                                                 absl::string_view class_name) const {
  const auto group = Need(class_name);
  if (!group.ok() || !monitors_.is_possible()) return {};
  const auto counters = resctrl_->Counters(
      id.empty() ? group->path : linux::MonitoringGroupPath(group->path, RdtMonitorName(id)));
  if (!counters.ok()) return {};
  std::map<std::string, uint64_t> measured;
  for (const auto& [event, value] : *counters) {
    measured[absl::EndsWith(event, "_bytes") ? event : absl::StrCat(event, "_bytes")] = value;
  }
  return measured;
}

absl::StatusOr<std::unique_ptr<PendingReload>> RdtType::PrepareReload() {
  PLIMSOLL_ASSIGN_OR_RETURN(const RdtConfig config, ReadConfig());
  PLIMSOLL_ASSIGN_OR_RETURN(RdtClasses classes, groups_.Plan(config));
  PLIMSOLL_RETURN_IF_ERROR(CheckNames(classes));
  return std::unique_ptr<PendingReload>(
      std::make_unique<RdtReload>(this, Current(), std::move(classes)));
}

}  // namespace plimsoll::qos
