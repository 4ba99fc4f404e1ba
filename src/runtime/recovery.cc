#include "runtime/recovery.h"

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
#include "base/programs/kill_timeout.h"
#include "base/status.h"
#include "linux/cgroup/merge.h"
#include "linux/process.h"
#include "runtime/cgroups/class_files.h"
#include "runtime/cgroups/group_paths.h"
#include "runtime/cgroups/last_values.h"
#include "runtime/cgroups/pod_group_settings.h"
#include "runtime/objects/sandbox_place.h"
#include "runtime/objects/state_machine.h"
#include "runtime/objects/update_mark.h"
#include "runtime/oci/fit.h"

namespace plimsoll::runtime {
namespace {

// The total wait for killed processes to leave the groups of strays.
constexpr absl::Duration kLeaving = absl::Seconds(2);
constexpr absl::Duration kPollInterval = absl::Milliseconds(10);

}  // namespace

absl::Status Recovery::Run() {
  PLIMSOLL_RETURN_IF_ERROR(parts_.options.run.MakeDirs("sandboxes", 0711));
  PLIMSOLL_RETURN_IF_ERROR(parts_.options.run.MakeDirs(kUpdates, 0700));
  InspectionInput input = inspection_.Places();
  PLIMSOLL_ASSIGN_OR_RETURN(input.sandboxes, parts_.options.store->LoadSandboxes());
  PLIMSOLL_ASSIGN_OR_RETURN(input.containers, parts_.options.store->LoadContainers());
  input.damaged = parts_.options.store->Damaged();
  AddUnrecordedRemovals(&input);
  parts_.pictures.CountWords(input.sandboxes, input.containers);
  const std::vector<Finding> findings = runtime::Inspect(input);
  for (const Finding& finding : findings) {
    if (!IsActedUpon(finding.difference)) continue;
    parts_.options.events->Add(EventType::kRecovered, finding.sandbox_id, finding.container_id,
                               absl::StrCat(finding.what, ": recovery ", finding.action));
  }

  absl::flat_hash_map<std::string, const Finding*> by_id;
  for (const Finding& finding : findings) {
    if (finding.difference == Difference::kStrayCommand) {
      Trouble(finding, parts_.options.runtime->EndStrayExec(finding.stray));
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
  parts_.classes.ReleaseSuperseded();
  RecoverSandboxes(std::move(input.sandboxes), found);
  RemoveStrays(findings);
  RecoverNetworks();
  for (const std::string& image : parts_.options.images->Damaged()) {
    Trouble({}, absl::DataLossError(image));
  }
  Trouble({}, layers_.Collect(input.damaged));
  return absl::OkStatus();
}

void Recovery::RecoverSandboxes(std::vector<SandboxRecord> records, FindingOf found) {
  // Pods to be removed come last: their groups must pass to a pod that stays, or to one that is
  // removed later.
  std::stable_partition(records.begin(), records.end(), [](const SandboxRecord& record) {
    return record.state == SandboxState::kReady || record.state == SandboxState::kNotReady;
  });
  for (SandboxRecord& record : records) parts_.groups.SetInTheMaking(&record);
  for (SandboxRecord& record : records) {
    parts_.groups.Forget(&record);
    const Finding* finding = found(record.id);
    const std::string id = record.id;
    RecoverSandbox(std::move(record), finding);
    parts_.pictures.Show(id);  // a kill may have come before the picture was written
  }
}

void Recovery::RemoveStrays(const std::vector<Finding>& findings) {
  // No update is under way any more. Marks of updates that could not be finished stay for the next
  // update or start.
  const auto is_unfinished = [this](absl::string_view mark) {
    if (absl::ConsumeSuffix(&mark, RemovalMarkIdOf(""))) {
      return parts_.objects.FindContainer(mark).ok() || parts_.objects.FindSandbox(mark).ok();
    }
    if (const auto container = parts_.objects.FindContainer(mark); container.ok()) {
      return HasProcess((*container)->Snapshot());
    }
    absl::ConsumeSuffix(&mark, RoomMarkIdOf(""));
    const auto sandbox = parts_.objects.FindSandbox(mark);
    return sandbox.ok() && (*sandbox)->Snapshot().state == SandboxState::kReady;
  };
  const absl::StatusOr<std::vector<std::string>> marks = parts_.options.run.List(kUpdates);
  for (const std::string& id : marks.value_or(std::vector<std::string>())) {
    if (!is_unfinished(id)) Trouble({}, parts_.options.run.RemoveFile(UpdateMarkOf(id)));
  }
  // A group's contents are removed before it, and the files by which the next start recognizes it
  // after it.
  for (const Finding& finding : findings) {
    if (finding.difference != Difference::kStrayContainer) continue;
    Trouble(finding, parts_.options.runtime->Delete(finding.container_id, ""));
  }
  absl::flat_hash_set<std::string> with_groups;  // sandboxes whose group stays
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
    } else if (finding.difference == Difference::kStraySandbox && !parts_.networks.IsAttached(id)) {
      // An attached network still needs the place: DetachStray gives that up.
      Trouble(finding, GiveUpPlace(id, keeps_group));
    }
  }
}

absl::Status Recovery::GiveUpPlace(const std::string& sandbox_id, bool keeps_group) const {
  return keeps_group ? ReleaseSandboxPlace(parts_.options.host, parts_.options.run, sandbox_id)
                     : RemoveSandboxPlace(parts_.options.host, parts_.options.run, sandbox_id);
}

bool Recovery::DetachNow(const std::string& sandbox_id) {
  const auto sandbox = parts_.objects.FindSandbox(sandbox_id);
  if (!sandbox.ok()) return true;  // a client has removed it meanwhile
  if ((*sandbox)->Snapshot().state == SandboxState::kRemoving) {
    const absl::Status removed = life_cycle_.remove(sandbox_id);
    const bool is_gone = absl::IsNotFound(removed) &&
                         absl::IsNotFound(parts_.objects.FindSandbox(sandbox_id).status());
    if (!is_gone) parts_.options.events->Warn(sandbox_id, "", removed);
    return is_gone || removed.ok();
  }
  absl::MutexLock operation(&(*sandbox)->operation);
  absl::Status status = parts_.networks.Detach(sandbox_id);
  if (status.ok())
    status = ReleaseSandboxPlace(parts_.options.host, parts_.options.run, sandbox_id);
  parts_.options.events->Warn(
      sandbox_id, "",
      Annotate(status,
               "its network can't be given back now (stop or remove the sandbox to try again)"));
  return status.ok();
}

bool Recovery::EndTry(const std::string& sandbox_id, bool is_done) {
  absl::MutexLock lock(&mutex_);
  bool& is_wanted_again = detaching_[sandbox_id];
  if (is_wanted_again && !is_done && !ending_) {
    is_wanted_again = false;
    return true;
  }
  detaching_.erase(sandbox_id);
  return false;
}

void Recovery::DetachLater(const std::string& sandbox_id) {
  {
    absl::MutexLock lock(&mutex_);
    const auto [at, is_new] = detaching_.try_emplace(sandbox_id, false);
    if (!is_new) {
      at->second = true;
      return;
    }
  }
  const auto detach = [this, sandbox_id] {
    while (EndTry(sandbox_id, ending_ || DetachNow(sandbox_id))) {
    }
  };
  // Not run here: plugins may take minutes, and a new sandbox of the pod doesn't wait for them.
  if (!detachers_.TrySchedule(detach)) EndTry(sandbox_id, /*is_done=*/true);
}

void Recovery::DetachRemains(const SandboxRecord& pod) {
  for (const auto& older : parts_.objects.RemainsOf(pod)) {
    const SandboxState state = older->Snapshot().state;
    // Ready: a stop of it is under way, or has failed and is its client's to repeat.
    const bool is_due = state == SandboxState::kRemoving ||
                        (state == SandboxState::kNotReady && parts_.networks.IsAttached(older->id));
    if (is_due) DetachLater(older->id);
  }
}

void Recovery::DetachStray(const std::string& sandbox_id, bool keeps_group) {
  const auto detach = [this, id = sandbox_id, keeps_group] {
    if (ending_) return;
    absl::Status status = parts_.networks.Detach(id);
    if (status.ok()) status = GiveUpPlace(id, keeps_group);
    parts_.options.events->Warn(id, "", status);
  };
  if (!detachers_.TrySchedule(detach)) detach();
}

void Recovery::RecoverNetworks() {
  const std::vector<DamagedRow> damaged = parts_.options.store->Damaged();
  for (const SandboxRecord& record : parts_.objects.ListSandboxes()) {
    // A damaged row's sandbox may still run: a client has to remove it.
    const bool is_damaged =
        absl::c_any_of(damaged, [&](const DamagedRow& row) { return row.id == record.id; });
    if (record.state == SandboxState::kReady || is_damaged ||
        !parts_.networks.IsAttached(record.id))
      continue;
    DetachLater(record.id);
  }
  if (parts_.options.network == nullptr || !parts_.options.collect_network_garbage) return;
  const auto collect = [this] {
    if (!ending_) parts_.options.events->Warn("", "", parts_.networks.CollectGarbage());
  };
  if (!detachers_.TrySchedule(collect)) collect();
}

// Ends our init of a shared PID namespace. Any other process in the group may be of a container
// whose record was lost, and is not ours to end.
absl::Status Recovery::RemoveStrayGroup(const Finding& finding, absl::Time deadline) const {
  SandboxRecord sandbox;
  sandbox.id = finding.sandbox_id;
  sandbox.cgroup_path = finding.group;
  const std::string pause = PauseCgroupOf(sandbox);
  for (;;) {
    auto processes = parts_.options.cgroups->Processes(finding.group, /*recursive=*/true);
    if (absl::IsNotFound(processes.status())) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(processes.status());
    const auto ours = parts_.options.cgroups->Processes(pause, /*recursive=*/true);
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
  PLIMSOLL_RETURN_IF_ERROR(parts_.options.cgroups->KillAll(pause, MonotonicNow() + kKillTimeout));
  return parts_.options.cgroups->Remove(finding.group);
}

void Recovery::Trouble(const Finding& finding, const absl::Status& status) {
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
  parts_.options.events->Add(EventType::kWarning, finding.sandbox_id, finding.container_id, text);
}

std::vector<std::string> Recovery::Troubles() const {
  absl::MutexLock lock(&mutex_);
  return troubles_;
}

// systemd changes these when it is reloaded while no daemon lives: it rounds quotas and clears
// memory.oom.group.
linux::CgroupSettings Recovery::LostInReloads(const linux::CgroupSettings& asked,
                                              const std::string& id) const {
  linux::CgroupSettings settled = asked;
  linux::Settle(parts_.options.cgroups->layout(), &settled);
  linux::CgroupSettings lost;
  lost.cpu_quota_us = settled.cpu_quota_us;
  lost.cpu_period_us = settled.cpu_period_us;
  for (const char* file : {"cpu.max", "memory.oom.group"}) {
    const auto raw = settled.unified.find(file);
    if (raw != settled.unified.end()) lost.unified.insert(*raw);
  }
  LeaveOut(ClassFilesOf(parts_.options.classes, id), &lost);
  return lost;
}

absl::Status Recovery::RegisterAgain(const ContainerRecord& record) const {
  if (!parts_.options.cgroups->EndsWithProcesses()) return absl::OkStatus();
  const absl::StatusOr<UniqueFd> init = linux::OpenProcess(parts_.options.host, record.init);
  if (!init.ok() || linux::HasExited(*init)) return absl::OkStatus();
  std::vector<std::string> told;
  const linux::CgroupSettings given =
      FitSettings(record.spec.resources, parts_.options.runtime->machine(), &told);
  return parts_.options.cgroups->Register(record.cgroup_path, record.init.pid,
                                          LostInReloads(given, record.id));
}

void Recovery::Reinstate(const Finding& finding, ContainerRecord* record) {
  const bool is_live = HasProcess(*record);
  if (!is_live && record->state != ContainerState::kCreating) return;
  bool is_due = false;
  bool changed = false;
  Trouble(finding, parts_.classes.FinishChange(record, &is_due));
  Trouble(finding, parts_.classes.Adopt(record, &changed));
  if (is_due || changed) Trouble(finding, parts_.options.store->PutContainer(*record));
  Trouble(finding, updates_.FinishOrTakeBack(record));
  if (is_live) Trouble(finding, RegisterAgain(*record));
}

bool Recovery::Mend(const Finding& finding, ContainerRecord* record) {
  switch (finding.difference) {
    case Difference::kContainerHalfMade:
    case Difference::kContainerHalfRemoved: {
      // The creation was never reported, or the removal was asked for: finishes the removal.
      absl::Status removed = parts_.options.runtime->Delete(record->id, record->cgroup_path);
      parts_.classes.Release(*record);
      if (removed.ok()) removed = parts_.options.store->RemoveContainer(record->id);
      if (removed.ok()) return false;
      Trouble(finding, removed);
      record->state = ContainerState::kRemoving;  // a client can try again
      return true;
    }
    case Difference::kContainerRebooted:
      record->monitor = {};  // no pid of another boot means anything
      record->init = {};
      return true;
    case Difference::kContainerStarted:
    case Difference::kContainerEnded: {
      if (finding.started_unix_nanos == 0) return true;
      record->state = ContainerState::kRunning;
      // The start was never reported. The exit may say that the program never ran.
      const auto exit = parts_.options.runtime->ReadExit(record->id);
      const bool executed = !exit.ok() || !exit->has_value() || !(*exit)->start_error.has_value();
      record->started_unix_nanos = executed ? finding.started_unix_nanos : 0;
      Trouble(finding, parts_.options.runtime->FinishStart(record->id));
      if (finding.difference == Difference::kContainerEnded) return true;  // its exit is saved
      Trouble(finding, parts_.options.store->PutContainer(*record));
      return true;
    }
    default:
      return true;
  }
}

void Recovery::RecoverContainer(ContainerRecord record, const Finding* found) {
  Finding finding;
  finding.difference = Difference::kNotInspected;
  if (found != nullptr) finding = *found;
  finding.sandbox_id = record.sandbox_id;
  finding.container_id = record.id;
  const bool was_live = HasProcess(record);
  if (finding.difference != Difference::kContainerRebooted) Reinstate(finding, &record);
  if (!Mend(finding, &record)) return;
  // A container to be removed takes no name: a new attempt may have it.
  if (record.state != ContainerState::kRemoving) {
    const std::string key = finding.difference == Difference::kDamagedRow
                                ? absl::StrCat("damaged/", record.id)
                                : NameKey(record.sandbox_id, record.spec);
    Trouble(finding,
            parts_.objects.ReserveName(key, record.id, absl::StrCat("container ", record.id)));
  }
  const std::string group = record.cgroup_path;
  auto layers = parts_.options.images->LeaseChain(record.chain_ids);
  Trouble(finding, layers.status());
  const auto container = std::make_shared<Container>(std::move(record));
  if (layers.ok()) {
    absl::MutexLock lock(&container->mutex);
    container->layers = *std::move(layers);
  }
  parts_.objects.AddContainer(container);
  if (finding.difference == Difference::kContainerRebooted) {
    parts_.ends.exits.Record(container);
  } else if (finding.difference == Difference::kContainerGroupLeft) {
    absl::Status gone = parts_.options.cgroups->KillAll(group, MonotonicNow() + kKillTimeout);
    if (gone.ok()) gone = parts_.options.cgroups->Remove(group);
    Trouble(finding, gone);
  } else if (was_live) {
    Trouble(finding, parts_.ends.exits.WatchOrRecord(container));
  }
}

std::shared_ptr<Sandbox> Recovery::Adopt(SandboxRecord record, const Finding& finding) {
  const std::string id = record.id;
  // A sandbox to be removed takes no name: a new attempt may have it.
  if (record.state != SandboxState::kRemoving) {
    const std::string key = finding.difference == Difference::kDamagedRow
                                ? absl::StrCat("damaged/", id)
                                : NameKey(record.spec);
    Trouble(finding, parts_.objects.ReserveName(key, id, absl::StrCat("sandbox ", id)));
  }
  auto sandbox = std::make_shared<Sandbox>(std::move(record));
  parts_.objects.AddSandbox(sandbox);
  return sandbox;
}

bool Recovery::Unmake(const Finding& finding, const SandboxRecord& record) {
  parts_.classes.Release(record);  // free even if the rest can't be removed now
  if (parts_.networks.IsAttached(record.id)) return false;  // DetachLater removes it
  const absl::Status removed = life_cycle_.unmake(record);
  Trouble(finding, removed);  // a client, or the next sandbox of the pod, can try again
  return removed.ok();
}

void Recovery::AdoptClasses(const Finding& finding, SandboxRecord* record) {
  // A stop releases the classes early, and another pod may hold the places now.
  const bool is_stopping = parts_.options.run.Has(StoppedFileOf(record->id)).value_or(false);
  if (is_stopping) return;
  bool changed = false;
  Trouble(finding, parts_.classes.Adopt(record, &changed));
  if (changed) Trouble(finding, parts_.options.store->PutSandbox(*record));
}

void Recovery::RecoverSandbox(SandboxRecord record, const Finding* found) {
  Finding finding;
  finding.difference = Difference::kNotInspected;
  if (found != nullptr) finding = *found;
  finding.sandbox_id = record.id;
  const bool was_stopped = record.state == SandboxState::kNotReady && found == nullptr;
  const bool may_hold =
      record.state == SandboxState::kReady || record.state == SandboxState::kCreating;
  if (may_hold && finding.difference != Difference::kSandboxRebooted) {
    AdoptClasses(finding, &record);
    Trouble(finding, pod_updates_.Finish(record));
    if (parts_.options.cgroups->EndsWithProcesses() && record.state == SandboxState::kReady) {
      const absl::Status kept =
          pod_updates_.Apply(record, LostInReloads(PodGroupSettings(record.spec), record.id));
      if (!absl::IsNotFound(kept)) Trouble(finding, kept);
    }
  }
  switch (finding.difference) {
    case Difference::kSandboxHalfMade:
    case Difference::kSandboxHalfRemoved:
      if (Unmake(finding, record)) return;
      record.state = SandboxState::kRemoving;
      break;
    case Difference::kSandboxRebooted:
    case Difference::kSandboxBroken:
      Trouble(finding, parts_.ends.pid_namespaces.End(record));
      parts_.classes.Release(record);
      // A network is given back before its namespace goes: DetachLater does both.
      if (finding.difference == Difference::kSandboxRebooted ||
          !parts_.networks.IsAttached(record.id)) {
        Trouble(finding, ReleaseSandboxPlace(parts_.options.host, parts_.options.run, record.id));
      }
      record.state = SandboxState::kNotReady;
      Trouble(finding, parts_.options.store->PutSandbox(record));
      break;
    case Difference::kSandboxStillHeld:
      Trouble(finding, parts_.ends.pid_namespaces.End(record));
      if (parts_.networks.IsAttached(record.id)) break;
      Trouble(finding, ReleaseSandboxPlace(parts_.options.host, parts_.options.run, record.id));
      break;
    default:
      break;
  }
  const std::shared_ptr<Sandbox> sandbox = Adopt(std::move(record), finding);
  {
    absl::MutexLock lock(&sandbox->mutex);
    sandbox->stop_told = was_stopped;
  }
  Trouble(finding, parts_.ends.pid_namespaces.Watch(sandbox));
  parts_.handler_updates.ReportCurrentLater(sandbox->id);
}

}  // namespace plimsoll::runtime
