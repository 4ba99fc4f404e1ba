// Recovery's second half: after a restart of the daemon or of the machine, the engine's picture is
// rebuilt from the store, and each difference that inspection.h finds gets its action.
//
// One broken object must not keep the others from being served: what fails is kept as it is, tried
// again at the next start or when a client removes it, and told (event, log, RecoveryTroubles).
#include <algorithm>
#include <csignal>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/monotonic_time.h"
#include "base/random_id.h"
#include "base/status.h"
#include "linux/cgroup/merge.h"
#include "linux/process.h"
#include "runtime/class_files.h"
#include "runtime/engine_impl.h"
#include "runtime/group_paths.h"
#include "runtime/kill_timeout.h"
#include "runtime/last_values.h"
#include "runtime/oci/fit.h"
#include "runtime/pod_group_settings.h"
#include "runtime/sandbox_place.h"
#include "runtime/state_machine.h"
#include "runtime/update_mark.h"

namespace plimsoll::runtime {
namespace {

// A difference that is there now and still then is no operation under way.
constexpr absl::Duration kSecondLook = absl::Milliseconds(300);
// How long all groups of strays together are waited for to be left by what was ended.
constexpr absl::Duration kLeaving = absl::Seconds(2);
constexpr absl::Duration kPollInterval = absl::Milliseconds(10);

// Now, and not given up: network plugins may take long.
bool IsBeingStopped(Sandbox& sandbox) {
  {
    absl::MutexLock lock(&sandbox.mutex);
    if (!sandbox.stopping) return false;
  }
  if (!sandbox.operation.TryLock()) return true;
  sandbox.operation.Unlock();
  return false;
}

}  // namespace

absl::Status EngineImpl::Recover() {
  classes_.SaveReloads();
  confinement_.Load(boot_id_);
  PLIMSOLL_RETURN_IF_ERROR(watcher_.Start());
  PLIMSOLL_RETURN_IF_ERROR(options_.run.MakeDirs("sandboxes", 0711));
  PLIMSOLL_RETURN_IF_ERROR(options_.run.MakeDirs(kUpdates, 0700));
  InspectionInput input = WhereToInspect();
  PLIMSOLL_ASSIGN_OR_RETURN(input.sandboxes, options_.store->LoadSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(input.containers, options_.store->LoadContainers());
  input.damaged = options_.store->Damaged();
  pictures_.CountWords(input.sandboxes, input.containers);
  const std::vector<Finding> findings = runtime::Inspect(input);
  for (const Finding& finding : findings) {
    if (!IsActedUpon(finding.difference)) continue;
    options_.events->Add(EventType::kRecovered, finding.sandbox_id, finding.container_id,
                         absl::StrCat(finding.what, ": recovery ", finding.action));
  }

  absl::flat_hash_map<std::string, const Finding*> by_id;
  for (const Finding& finding : findings) {
    if (finding.difference == Difference::kStrayCommand) {
      Trouble(finding, options_.runtime->EndStrayExec(finding.stray));
    } else if (finding.difference == Difference::kNotInspected) {
      Trouble(finding, absl::InternalError(finding.what));
    } else {
      by_id[finding.container_id.empty() ? finding.sandbox_id : finding.container_id] = &finding;
    }
  }
  const auto found = [&by_id](const std::string& id) {
    const auto it = by_id.find(id);
    return it == by_id.end() ? nullptr : it->second;
  };
  // Containers first: a sandbox can be removed only when it has none.
  for (ContainerRecord& record : input.containers) {
    const Finding* finding = found(record.id);
    RecoverContainer(std::move(record), finding);
  }
  RecoverSandboxes(std::move(input.sandboxes), found);
  RemoveStrays(findings);
  RecoverNetworks();
  for (const std::string& image : options_.images->Damaged()) {
    Trouble({}, absl::DataLossError(image));
  }
  CollectLayers(input.damaged);
  return absl::OkStatus();
}

// What is the same at a start and later.
InspectionInput EngineImpl::WhereToInspect() const {
  InspectionInput input{.host = options_.host, .run = options_.run, .boot_id = boot_id_};
  input.cgroups = options_.cgroups;
  input.runtime = options_.runtime;
  input.state = options_.state;
  input.default_cgroup_parent = options_.default_cgroup_parent;
  input.attached = networks_.Attached();
  return input;
}

void EngineImpl::RecoverSandboxes(std::vector<SandboxRecord> records, FindingOf found) {
  // Those that go come last: what they own has to be handed to one that stays, or to one that goes
  // later.
  std::stable_partition(records.begin(), records.end(), [](const SandboxRecord& record) {
    return record.state == SandboxState::kReady || record.state == SandboxState::kNotReady;
  });
  for (SandboxRecord& record : records) groups_.SetInTheMaking(&record);
  for (SandboxRecord& record : records) {
    groups_.Forget(&record);
    const Finding* finding = found(record.id);
    const std::string id = record.id;
    RecoverSandbox(std::move(record), finding);
    pictures_.Show(id);  // a kill may have come before it was written
  }
}

void EngineImpl::RemoveStrays(const std::vector<Finding>& findings) {
  // No update is under way any more; those that could not be finished are left to the next update
  // or start.
  const auto is_unfinished = [this](absl::string_view mark) {
    if (const auto container = objects_.FindContainer(mark); container.ok()) {
      return HasProcess((*container)->Snapshot());
    }
    absl::ConsumeSuffix(&mark, RoomMarkIdOf(""));
    const auto sandbox = objects_.FindSandbox(mark);
    return sandbox.ok() && (*sandbox)->Snapshot().state == SandboxState::kReady;
  };
  const absl::StatusOr<std::vector<std::string>> marks = options_.run.List(kUpdates);
  for (const std::string& id : marks.value_or(std::vector<std::string>())) {
    if (!is_unfinished(id)) Trouble({}, options_.run.RemoveFile(UpdateMarkOf(id)));
  }
  // What is in a group goes before it; what the next start knows a group by, after it.
  for (const Finding& finding : findings) {
    if (finding.difference != Difference::kStrayContainer) continue;
    Trouble(finding, options_.runtime->Delete(finding.container_id, ""));
  }
  absl::flat_hash_set<std::string> with_groups;  // sandboxes of which one stays
  const absl::Time deadline = MonotonicNow() + kLeaving;
  for (const Finding& finding : findings) {
    if (finding.difference != Difference::kStrayGroup) continue;
    const absl::Status removed = RemoveStrayGroup(finding, deadline);
    if (!removed.ok()) with_groups.insert(finding.sandbox_id);
    Trouble(finding, removed);
  }
  for (const Finding& finding : findings) {
    const std::string& id = finding.sandbox_id;
    const bool keeps_group = with_groups.contains(id);
    if (finding.difference == Difference::kStrayNetwork) {
      DetachStray(id, keeps_group);
    } else if (finding.difference == Difference::kStraySandbox && !networks_.IsAttached(id)) {
      // Else its place goes when its network needs that no more.
      Trouble(finding, GiveUpPlace(id, keeps_group));
    }
  }
}

absl::Status EngineImpl::GiveUpPlace(const std::string& sandbox_id, bool keeps_group) const {
  return keeps_group ? ReleaseSandboxPlace(options_.host, options_.run, sandbox_id)
                     : RemoveSandboxPlace(options_.host, options_.run, sandbox_id);
}

void EngineImpl::DetachLater(const std::string& sandbox_id) {
  const auto detach = [this, sandbox_id] {
    if (ending_) return;
    const auto sandbox = objects_.FindSandbox(sandbox_id);
    if (!sandbox.ok()) return;  // a client has removed it meanwhile
    if ((*sandbox)->Snapshot().state == SandboxState::kRemoving) {
      options_.events->Warn(sandbox_id, "", RemoveSandbox(sandbox_id));
      return;
    }
    absl::MutexLock operation(&(*sandbox)->operation);
    absl::Status status = networks_.Detach(sandbox_id);
    if (status.ok()) status = ReleaseSandboxPlace(options_.host, options_.run, sandbox_id);
    options_.events->Warn(
        sandbox_id, "",
        Annotate(status,
                 "its network can't be given back now (stop or remove the sandbox to try again)"));
  };
  if (!detachers_.TrySchedule(detach)) detach();
}

void EngineImpl::DetachStray(const std::string& sandbox_id, bool keeps_group) {
  const auto detach = [this, id = sandbox_id, keeps_group] {
    if (ending_) return;
    absl::Status status = networks_.Detach(id);
    if (status.ok()) status = GiveUpPlace(id, keeps_group);
    options_.events->Warn(id, "", status);
  };
  if (!detachers_.TrySchedule(detach)) detach();
}

void EngineImpl::RecoverNetworks() {
  const std::vector<DamagedRow> damaged = options_.store->Damaged();
  for (const SandboxRecord& record : objects_.ListSandboxes()) {
    // What a damaged row stands for may run: it is for a client to remove.
    const bool is_damaged =
        absl::c_any_of(damaged, [&](const DamagedRow& row) { return row.id == record.id; });
    if (record.state == SandboxState::kReady || is_damaged || !networks_.IsAttached(record.id))
      continue;
    DetachLater(record.id);
  }
  if (options_.network == nullptr || !options_.collect_network_garbage) return;
  const auto collect = [this] {
    if (!ending_) options_.events->Warn("", "", networks_.CollectGarbage());
  };
  if (!detachers_.TrySchedule(collect)) collect();
}

// Which layers a damaged row of a container stands for can't be told: until all such are gone,
// every layer stays.
void EngineImpl::CollectLayers(const std::vector<DamagedRow>& damaged) {
  {
    absl::MutexLock lock(&mutex_);
    for (const DamagedRow& row : damaged) {
      if (objects_.FindContainer(row.id).ok()) uncertain_layers_.insert(row.id);
    }
    if (!uncertain_layers_.empty()) return;
  }
  Trouble({}, options_.images->CollectGarbage());
}

void EngineImpl::CollectLayersAfter(const std::string& container_id) {
  {
    absl::MutexLock lock(&mutex_);
    if (uncertain_layers_.erase(container_id) == 0 || !uncertain_layers_.empty()) return;
  }
  options_.events->Warn("", "", options_.images->CollectGarbage());
}

// The holder of a shared PID namespace is ours. What else runs in it may be somebody's whose record
// was lost: not ours to end.
absl::Status EngineImpl::RemoveStrayGroup(const Finding& finding, absl::Time deadline) {
  SandboxRecord sandbox;
  sandbox.id = finding.sandbox_id;
  sandbox.cgroup_path = finding.group;
  const std::string pause = PauseCgroupOf(sandbox);
  for (;;) {
    auto processes = options_.cgroups->Processes(finding.group, /*recursive=*/true);
    if (absl::IsNotFound(processes.status())) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(processes.status());
    const auto ours = options_.cgroups->Processes(pause, /*recursive=*/true);
    if (!absl::IsNotFound(ours.status())) PLIMSOLL_RETURN_IF_ERROR(ours.status());
    if (ours.ok()) {
      std::erase_if(*processes, [&ours](pid_t pid) {
        return std::find(ours->begin(), ours->end(), pid) != ours->end();
      });
    }
    if (processes->empty()) break;
    if (MonotonicNow() > deadline) {
      return absl::FailedPreconditionError(absl::StrCat(
          "control group ", finding.group, " is of a sandbox that is not recorded, and ",
          processes->size(), " processes are in it, process ", processes->front(),
          " among them: end them, then the next start removes it"));
    }
    absl::SleepFor(kPollInterval);
  }
  PLIMSOLL_RETURN_IF_ERROR(options_.cgroups->KillAll(pause, MonotonicNow() + kKillTimeout));
  return options_.cgroups->Remove(finding.group);
}

void EngineImpl::Trouble(const Finding& finding, const absl::Status& status) {
  if (status.ok()) return;
  const std::string text = absl::StrCat("recovery: ", status.message());
  {
    absl::MutexLock lock(&mutex_);
    troubles_.push_back(finding.container_id.empty() && finding.sandbox_id.empty()
                            ? text
                            : absl::StrCat(finding.container_id.empty()
                                               ? absl::StrCat("sandbox ", finding.sandbox_id)
                                               : absl::StrCat("container ", finding.container_id),
                                           ": ", text));
  }
  options_.events->Add(EventType::kWarning, finding.sandbox_id, finding.container_id, text);
}

std::vector<std::string> EngineImpl::RecoveryTroubles() const {
  absl::MutexLock lock(&mutex_);
  return troubles_;
}

std::shared_ptr<Container> EngineImpl::Adopt(ContainerRecord record, const Finding& finding) {
  const std::string id = record.id;
  const bool damaged = finding.difference == Difference::kDamagedRow;
  const std::string key =
      damaged ? absl::StrCat("damaged/", id) : NameKey(record.sandbox_id, record.spec);
  Trouble(finding, objects_.ReserveName(key, id, absl::StrCat("container ", id)));
  auto container = std::make_shared<Container>(std::move(record));
  {
    absl::MutexLock lock(&container->mutex);
    absl::StatusOr<std::shared_ptr<image::LayerLease>> layers =
        options_.images->LeaseChain(container->record.chain_ids);
    if (layers.ok()) {
      container->layers = *std::move(layers);
    } else {
      Trouble(finding, layers.status());
    }
  }
  objects_.AddContainer(container);
  return container;
}

// What systemd has changed if it was reloaded while no daemon lived: it rounds quotas, and clears
// memory.oom.group.
linux::CgroupSettings EngineImpl::LostInReloads(const linux::CgroupSettings& asked,
                                                const std::string& id) const {
  linux::CgroupSettings settled = asked;
  linux::Settle(options_.cgroups->layout(), &settled);
  linux::CgroupSettings lost;
  lost.cpu_quota_us = settled.cpu_quota_us;
  lost.cpu_period_us = settled.cpu_period_us;
  for (const char* file : {"cpu.max", "memory.oom.group"}) {
    const auto raw = settled.unified.find(file);
    if (raw != settled.unified.end()) lost.unified.insert(*raw);
  }
  LeaveOut(ClassFilesOf(options_.classes, id), &lost);
  return lost;
}

absl::Status EngineImpl::RegisterAgain(const ContainerRecord& record) {
  if (!options_.cgroups->EndsWithProcesses()) return absl::OkStatus();
  const absl::StatusOr<UniqueFd> init = linux::OpenProcess(options_.host, record.init);
  if (!init.ok() || linux::HasExited(*init)) return absl::OkStatus();
  std::vector<std::string> told;
  const linux::CgroupSettings given = FitSettings(record.spec.resources, *options_.runtime, &told);
  return options_.cgroups->Register(record.cgroup_path, record.init.pid,
                                    LostInReloads(given, record.id));
}

void EngineImpl::RecoverContainer(ContainerRecord record, const Finding* found) {
  Finding finding;
  finding.difference = Difference::kNotInspected;
  if (found != nullptr) finding = *found;
  finding.sandbox_id = record.sandbox_id;
  finding.container_id = record.id;
  const bool is_live = HasProcess(record);
  const bool may_hold = is_live || record.state == ContainerState::kCreating;
  if (may_hold && finding.difference != Difference::kContainerRebooted) {
    bool is_due = false;
    bool changed = false;
    Trouble(finding, classes_.FinishChange(&record, &is_due));
    Trouble(finding, classes_.Adopt(&record, &changed));
    if (is_due || changed) Trouble(finding, options_.store->PutContainer(record));
    Trouble(finding, updates_.Finish(record));
    if (is_live) Trouble(finding, RegisterAgain(record));
  }
  switch (finding.difference) {
    case Difference::kContainerHalfMade:
    case Difference::kContainerHalfRemoved: {
      // Nobody was told of its creation, or somebody of its removal: finish by removing.
      absl::Status removed = options_.runtime->Delete(record.id, record.cgroup_path);
      classes_.Release(record);
      if (removed.ok()) removed = options_.store->RemoveContainer(record.id);
      if (removed.ok()) return;
      Trouble(finding, removed);
      record.state = ContainerState::kRemoving;  // a client can try again
      Adopt(std::move(record), finding);
      return;
    }
    case Difference::kContainerRebooted:
      record.monitor = {};  // no pid of another boot means anything
      record.init = {};
      exits_.Record(Adopt(std::move(record), finding));
      return;
    case Difference::kContainerGroupLeft: {
      const std::string group = record.cgroup_path;
      Adopt(std::move(record), finding);
      absl::Status gone = options_.cgroups->KillAll(group, MonotonicNow() + absl::Seconds(10));
      if (gone.ok()) gone = options_.cgroups->Remove(group);
      Trouble(finding, gone);
      return;
    }
    case Difference::kContainerStarted:
    case Difference::kContainerEnded: {
      if (finding.started_unix_nanos != 0) {
        record.state = ContainerState::kRunning;
        // Nobody was told that it started, and its program never did where the exit says so.
        const auto exit = options_.runtime->ReadExit(record.id);
        const bool executed = !exit.ok() || !exit->has_value() || !(*exit)->start_error.has_value();
        record.started_unix_nanos = executed ? finding.started_unix_nanos : 0;
        Trouble(finding, options_.runtime->FinishStart(record.id));
      }
      const std::shared_ptr<Container> container = Adopt(std::move(record), finding);
      if (finding.difference == Difference::kContainerStarted)
        Trouble(finding, SaveRow(*options_.store, *container));
      Trouble(finding, exits_.WatchOrRecord(container));
      return;
    }
    default: {
      const std::shared_ptr<Container> container = Adopt(std::move(record), finding);
      if (is_live) Trouble(finding, exits_.WatchOrRecord(container));
      return;
    }
  }
}

std::shared_ptr<Sandbox> EngineImpl::Adopt(SandboxRecord record, const Finding& finding) {
  const std::string id = record.id;
  const std::string key = finding.difference == Difference::kDamagedRow
                              ? absl::StrCat("damaged/", id)
                              : NameKey(record.spec);
  Trouble(finding, objects_.ReserveName(key, id, absl::StrCat("sandbox ", id)));
  auto sandbox = std::make_shared<Sandbox>(std::move(record));
  objects_.AddSandbox(sandbox);
  return sandbox;
}

void EngineImpl::RecoverSandbox(SandboxRecord record, const Finding* found) {
  Finding finding;
  finding.difference = Difference::kNotInspected;
  if (found != nullptr) finding = *found;
  finding.sandbox_id = record.id;
  const bool may_hold =
      record.state == SandboxState::kReady || record.state == SandboxState::kCreating;
  if (may_hold && finding.difference != Difference::kSandboxRebooted) {
    bool changed = false;
    Trouble(finding, classes_.Adopt(&record, &changed));
    if (changed) Trouble(finding, options_.store->PutSandbox(record));
    Trouble(finding, pod_updates_.Finish(record));
    if (options_.cgroups->EndsWithProcesses() && record.state == SandboxState::kReady) {
      const absl::Status kept =
          pod_updates_.Apply(record, LostInReloads(PodGroupSettings(record.spec), record.id));
      if (!absl::IsNotFound(kept)) Trouble(finding, kept);
    }
  }
  switch (finding.difference) {
    case Difference::kSandboxHalfMade:
    case Difference::kSandboxHalfRemoved: {
      if (networks_.IsAttached(record.id)) {
        record.state = SandboxState::kRemoving;  // DetachLater removes it
        break;
      }
      const absl::Status removed = UnmakeSandbox(record);
      if (removed.ok()) return;
      Trouble(finding, removed);
      record.state = SandboxState::kRemoving;  // a client can try again
      break;
    }
    case Difference::kSandboxRebooted:
    case Difference::kSandboxBroken:
      Trouble(finding, pid_namespaces_.End(record));
      classes_.Release(record);
      // A network is given back before its namespace goes: DetachLater does both.
      if (finding.difference == Difference::kSandboxRebooted || !networks_.IsAttached(record.id)) {
        Trouble(finding, ReleaseSandboxPlace(options_.host, options_.run, record.id));
      }
      record.state = SandboxState::kNotReady;
      Trouble(finding, options_.store->PutSandbox(record));
      break;
    case Difference::kSandboxStillHeld:
      Trouble(finding, pid_namespaces_.End(record));
      if (networks_.IsAttached(record.id)) break;
      Trouble(finding, ReleaseSandboxPlace(options_.host, options_.run, record.id));
      break;
    default:
      break;
  }
  const std::shared_ptr<Sandbox> sandbox = Adopt(std::move(record), finding);
  Trouble(finding, pid_namespaces_.Watch(sandbox));
  handler_updates_.TellBackLater(sandbox->id);
}

std::vector<Finding> EngineImpl::LookOnce() {
  InspectionInput input = WhereToInspect();
  input.under_way = objects_.IdsInTheMaking();
  for (const std::shared_ptr<Sandbox>& sandbox : objects_.Sandboxes()) {
    if (IsBeingStopped(*sandbox)) input.under_way.push_back(sandbox->id);
  }
  input.sandboxes = objects_.ListSandboxes();
  input.containers = objects_.ListContainers();
  input.damaged = options_.store->Damaged();
  for (image::Image& image : options_.images->List()) {
    input.images.push_back(std::move(image.record));
  }
  return runtime::Inspect(input);
}

std::vector<Finding> EngineImpl::Inspect() {
  const std::vector<Finding> first = LookOnce();
  std::vector<Finding> second;
  if (!first.empty()) {
    absl::SleepFor(kSecondLook);
    second = LookOnce();
  }
  std::erase_if(second, [&first](const Finding& finding) {
    return std::none_of(first.begin(), first.end(), [&](const Finding& other) {
      return other.difference == finding.difference && other.what == finding.what &&
             other.sandbox_id == finding.sandbox_id && other.container_id == finding.container_id;
    });
  });
  networks_.Check(&second);
  return second;
}

}  // namespace plimsoll::runtime
