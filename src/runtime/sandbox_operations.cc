#include <cstdio>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/random_id.h"
#include "base/status.h"
#include "runtime/engine_impl.h"
#include "runtime/handlers/handler.h"
#include "runtime/objects/sandbox_place.h"
#include "runtime/objects/state_machine.h"
#include "runtime/objects/update_mark.h"
#include "runtime/oci/fit.h"
#include "runtime/store/unwritable.h"

namespace plimsoll::runtime {
namespace {

// Writes the row of a stopped sandbox, if it has not been written since the stop was told.
absl::Status SaveStopped(Store& store, Sandbox& sandbox) {
  absl::MutexLock lock(&sandbox.mutex);
  if (!sandbox.unsaved) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(store.PutSandbox(sandbox.record));
  sandbox.unsaved = false;
  return absl::OkStatus();
}

// Marks the sandbox as stopped. If the disk has no room for a new file, renames a file that no
// container needs any more to the mark.
absl::Status LeaveMark(const FsRoot& run, const std::string& id) {
  const std::string mark = StoppedFileOf(id);
  const absl::Status marked = run.ReplaceFile(mark, "");
  if (!absl::IsResourceExhausted(marked)) return marked;
  const std::string spare = absl::StrCat(mark.substr(0, mark.rfind('/')), "/resolv.conf");
  return renameat(run.fd(), spare.c_str(), run.fd(), mark.c_str()) == 0 ? absl::OkStatus() : marked;
}

// Called before anything of a pod is given back: a daemon that starts after a kill in between finds
// the pod NotReady and gives back the rest. If a full disk has no room for the mark, the stop goes
// on.
absl::Status MarkAsStopping(const FsRoot& run, const SandboxRecord& record) {
  if (record.state != SandboxState::kReady) return absl::OkStatus();
  const absl::Status marked = LeaveMark(run, record.id);
  // NOT_FOUND: without a place the pod has no namespaces, which the next daemon finds.
  if (absl::IsNotFound(marked) || absl::IsResourceExhausted(marked)) return absl::OkStatus();
  return marked;
}

// Lets the next daemon find that a pod whose row says Ready is stopped: by its missing namespaces,
// or by the mark. The disk may have had no room for the mark when the stop began.
absl::Status LeaveTraceOfStop(const FsRoot& run, const SandboxRecord& record) {
  PLIMSOLL_ASSIGN_OR_RETURN(const PlaceState place,
                            LookAtSandboxPlace(run, record.id, record.spec));
  if (place != PlaceState::kWhole) return absl::OkStatus();
  return LeaveMark(run, record.id);
}

// Runs both to their ends, side by side. The first one's error takes precedence.
absl::Status AtOnce(absl::FunctionRef<absl::Status()> first,
                    absl::FunctionRef<absl::Status()> second) {
  absl::Status second_status;
  std::thread beside;
  try {
    beside = std::thread([&] { second_status = second(); });
  } catch (const std::system_error&) {  // without a thread, one after the other
  }
  const absl::Status first_status = first();
  if (beside.joinable()) {
    beside.join();
  } else {
    second_status = second();
  }
  return FirstError(first_status, second_status);
}

// FAILED_PRECONDITION if the pod wants a user namespace of its own and none can be had.
absl::Status CheckUserNamespace(const EngineParts& parts, const SandboxRecord& record) {
  const SandboxSpec& spec = record.spec;
  if (!spec.namespaces.has_user_namespace()) return absl::OkStatus();
  const std::string what =
      absl::StrCat("pod ", spec.pod_namespace, "/", spec.name, ": a user namespace of its own");
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, parts.handlers.Find(record));
  if (handler != nullptr && handler->is_vm) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, " can't be had from the runtime handler ", spec.runtime_handler,
                     ": it runs pods in virtual machines"));
  }
  const absl::Status possible = parts.options.runtime->UserNamespaces();
  return possible.ok() ? possible : Annotate(possible, absl::StrCat(what, " can't be had here"));
}

// The SELinux level of a pod: the one asked for, else one that no other pod has. Empty if there are
// no levels.
std::string LevelFor(const EngineParts& parts, const SandboxSpec& spec) {
  constexpr int kAttempts = 100;  // of half a million
  const linux::SelinuxLabels* labels = parts.options.runtime->Selinux();
  if (labels == nullptr || !spec.selinux.level.empty()) return spec.selinux.level;
  std::vector<std::string> taken;
  for (const SandboxRecord& record : parts.objects.ListSandboxes())
    taken.push_back(record.spec.selinux.level);
  std::string level = linux::RandomLevel(labels->process);
  for (int i = 0; i < kAttempts && absl::c_linear_search(taken, level); ++i) {
    level = linux::RandomLevel(labels->process);
    if (level.empty()) break;
  }
  return level;
}

// The SELinux label of the files that the pod's containers share; empty: none. INVALID_ARGUMENT.
absl::StatusOr<std::string> FileLabelOf(const EngineParts& parts, const SandboxSpec& spec) {
  const linux::SelinuxLabels* labels = parts.options.runtime->Selinux();
  if (labels == nullptr) return std::string();
  const auto own = linux::LabelsWith("selinux_options", *labels, spec.selinux);
  if (own.ok()) return own->file;
  return Annotate(own.status(), absl::StrCat("pod ", spec.pod_namespace, "/", spec.name));
}

// Replaces NOT_FOUND with OK for a container that another call has removed meanwhile. While the
// container exists, NOT_FOUND is about something that it needs.
absl::Status UnlessGone(const Objects& objects, const Container& container, absl::Status status) {
  const bool is_gone =
      absl::IsNotFound(status) && absl::IsNotFound(objects.FindContainer(container.id).status());
  return is_gone ? absl::OkStatus() : status;
}

// Makes the network and the PID namespace of a pod that has a place, as far as it asks for them,
// side by side. `pause`: the init of the namespace, to be released once it is on record.
absl::Status Connect(EngineParts& parts, const std::string& file_label, SandboxRecord* record,
                     std::optional<HeldPause>* pause) {
  absl::Duration held_for;
  const auto attach = [&] { return parts.networks.Attach(*record, file_label); };
  const auto hold = [&]() -> absl::Status {
    const absl::Time start = absl::Now();
    PLIMSOLL_ASSIGN_OR_RETURN(*pause, parts.ends.pid_namespaces.Make(record));
    held_for = absl::Now() - start;
    return absl::OkStatus();
  };
  PLIMSOLL_RETURN_IF_ERROR(record->spec.namespaces.pid == NamespaceMode::kPod ? AtOnce(attach, hold)
                                                                              : attach());
  if (pause->has_value() && parts.options.observe_phase) {
    parts.options.observe_phase("sandbox_pid_namespace", held_for);
  }
  return absl::OkStatus();
}

// Makes a finished sandbox Ready and adds it to the store and to Objects. On success the record is
// moved from.
absl::StatusOr<std::shared_ptr<Sandbox>> AddSandbox(EngineParts& parts, SandboxRecord* record) {
  std::shared_ptr<Sandbox> sandbox;
  PLIMSOLL_RETURN_IF_ERROR(parts.groups.Finish(record, [&]() -> absl::Status {
    record->state = SandboxState::kReady;
    if (absl::Status saved = parts.options.store->PutSandbox(*record); !saved.ok()) {
      record->state = SandboxState::kCreating;
      return saved;
    }
    const SandboxRecord started = *record;
    sandbox = std::make_shared<Sandbox>(std::move(*record));
    parts.objects.AddSandbox(sandbox, [&] {
      parts.options.events->Add(EventType::kSandboxStarted, started, FullName(started.spec));
    });
    return absl::OkStatus();
  }));
  return sandbox;
}

}  // namespace

absl::StatusOr<std::string> EngineImpl::RunSandbox(const SandboxSpec& spec,
                                                   std::string client_config) {
  SandboxRecord record;
  record.id = RandomId();
  record.created_unix_nanos = parts_.options.clock->NowUnixNanos();
  record.boot_id = boot_id_;
  record.spec = spec;
  record.client_config = std::move(client_config);
  PLIMSOLL_RETURN_IF_ERROR(CheckUserNamespace(parts_, record));
  const std::string pod = absl::StrCat("pod ", spec.pod_namespace, "/", spec.name);
  const HostFeatures* const machine = parts_.options.runtime->machine();
  PLIMSOLL_RETURN_IF_ERROR(Annotate(CheckSettings(spec.resources, machine), pod));
  PLIMSOLL_RETURN_IF_ERROR(Annotate(CheckSettings(spec.overhead, machine), pod));
  const absl::StatusOr<std::string> lost = parts_.confinement.CheckPod(spec.resources);
  PLIMSOLL_RETURN_IF_ERROR(Annotate(lost.status(), pod));
  record.spec.selinux.level = LevelFor(parts_, spec);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string file_label, FileLabelOf(parts_, record.spec));

  const std::string key = NameKey(spec);
  PLIMSOLL_RETURN_IF_ERROR(parts_.objects.ReserveName(
      key, record.id, absl::StrCat(pod, " (attempt ", spec.attempt, ")")));
  absl::Cleanup release_name = [&] { parts_.objects.ReleaseName(record.id); };
  const std::string dropped = parts_.handlers.DropUnusableFacts(&record);
  PLIMSOLL_RETURN_IF_ERROR(parts_.handlers.CheckSize(record));
  std::move(release_name).Cancel();
  recovery_.DetachRemains(record);
  PluginMaking making(parts_.plugin_hooks);
  absl::Cleanup undo = [&] { UndoSandbox(std::move(record)); };
  absl::Cleanup forget = [&] { parts_.groups.Forget(&record); };
  PLIMSOLL_RETURN_IF_ERROR(parts_.classes.Reserve(&record));
  StartPhase phase(parts_.options.observe_phase);
  PLIMSOLL_RETURN_IF_ERROR(parts_.groups.Make(&record));
  PLIMSOLL_RETURN_IF_ERROR(parts_.classes.Enforce(record));
  // A container is likely to follow. Not called earlier: it slows the making of groups.
  parts_.groups.ExpectProcess();
  phase.Done("sandbox_cgroup");
  PLIMSOLL_RETURN_IF_ERROR(MakeSandboxPlace(parts_.options.host, parts_.options.run, record.id,
                                            record.spec, parts_.options.network_rights,
                                            file_label));
  PLIMSOLL_RETURN_IF_ERROR(parts_.handlers.KeepAnnounced(record));
  phase.Done("sandbox_namespaces");

  std::optional<HeldPause> pause;
  PLIMSOLL_RETURN_IF_ERROR(Connect(parts_, file_label, &record, &pause));
  PLIMSOLL_RETURN_IF_ERROR(making.RunSandbox(record));
  const std::string id = record.id;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox, AddSandbox(parts_, &record));
  std::move(forget).Cancel();
  // The init stays only now that it is recorded. If it has died meanwhile, Watch finds that.
  if (pause.has_value()) parts_.options.events->Warn(id, "", pause->Release());
  std::move(undo).Cancel();
  making.Done();
  parts_.confinement.TellPodLost(id, *lost);
  parts_.pictures.Show(id);
  parts_.pictures.TellContradiction(id, nullptr, sandbox->Snapshot().spec);
  parts_.options.events->Warn(id, "", parts_.ends.pid_namespaces.Watch(sandbox));
  if (!dropped.empty()) parts_.options.events->Add(EventType::kWarning, id, "", dropped);
  return id;
}

absl::Status EngineImpl::UnmakeSandbox(const SandboxRecord& record) {
  for (const auto& container : parts_.objects.ContainersOf(record.id)) {
    PLIMSOLL_RETURN_IF_ERROR(
        UnlessGone(parts_.objects, *container, RemoveContainer(container->id)));
  }
  // Tries every step, even after an error; the row goes when nothing else is left.
  absl::Status status = parts_.ends.pid_namespaces.End(record);
  parts_.classes.Release(record);
  const absl::Status detached = parts_.networks.Detach(record.id);
  status = FirstError(status, detached);
  // Network plugins that are called again need the namespace: without it some leave rules behind.
  if (detached.ok()) {
    status =
        FirstError(status, RemoveSandboxPlace(parts_.options.host, parts_.options.run, record.id));
  }
  status = FirstError(status, parts_.groups.Remove(record));
  PLIMSOLL_RETURN_IF_ERROR(status);
  return parts_.options.store->RemoveSandbox(record.id);
}

void EngineImpl::UndoSandbox(SandboxRecord record) {
  const absl::Status unmade = UnmakeSandbox(record);
  // The name is free in any case: no client knows this sandbox by it.
  const absl::Cleanup release_name = [this, id = record.id] { parts_.objects.ReleaseName(id); };
  if (unmade.ok()) return;
  parts_.options.events->Warn(
      record.id, "",
      Annotate(unmade,
               "remains of the failed creation can't be removed now (remove the sandbox, or "
               "restart the daemon, to try again)"));
  record.state = SandboxState::kRemoving;
  parts_.objects.AddSandbox(std::make_shared<Sandbox>(std::move(record)));
}

absl::Status EngineImpl::GiveBack(const SandboxRecord& record) {
  const absl::Status ended = parts_.ends.pid_namespaces.End(record);
  parts_.classes.Release(record);
  // Network plugins that are called again need the namespaces.
  PLIMSOLL_RETURN_IF_ERROR(FirstError(ended, parts_.networks.Detach(record.id)));
  return ReleaseSandboxPlace(parts_.options.host, parts_.options.run, record.id);
}

absl::Status EngineImpl::StopSandboxLocked(const std::shared_ptr<Sandbox>& sandbox) {
  for (const auto& container : parts_.objects.ContainersOf(sandbox->id)) {
    PLIMSOLL_RETURN_IF_ERROR(
        UnlessGone(parts_.objects, *container, StopContainer(container->id, absl::ZeroDuration())));
  }
  parts_.plugin_hooks.StopSandbox(*sandbox);
  SandboxRecord record;
  {
    absl::MutexLock lock(&sandbox->mutex);
    sandbox->stopping = true;
    record = sandbox->record;
  }
  PLIMSOLL_RETURN_IF_ERROR(MarkAsStopping(parts_.options.run, record));
  // A pod whose init has died is NotReady already, but still holds its classes and its network.
  const absl::Status given_back = GiveBack(record);
  // It stays Ready if its init is what couldn't be ended.
  if (!given_back.ok()) PLIMSOLL_RETURN_IF_ERROR(parts_.ends.pid_namespaces.End(record));
  absl::MutexLock lock(&sandbox->mutex);
  if (given_back.ok()) sandbox->stop_told = true;
  if (sandbox->record.state == SandboxState::kNotReady) return given_back;
  // No process of it runs, even if a network plugin fails: while it is Ready, kubelet neither stops
  // it again nor makes the pod's next sandbox.
  PLIMSOLL_RETURN_IF_ERROR(
      CheckTransition(sandbox->id, sandbox->record.state, SandboxState::kNotReady));
  sandbox->record.state = SandboxState::kNotReady;
  sandbox->unsaved = true;
  // Reported even if it can't be saved: no process of it runs, and the next daemon would find that.
  parts_.options.events->Add(EventType::kSandboxStopped, sandbox->record,
                             FullName(sandbox->record.spec));
  return given_back;
}

absl::Status EngineImpl::StopSandbox(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, parts_.objects.FindSandbox(id));
  const CallOff call_off(sandbox->turns, sandbox->id);
  absl::MutexLock operation(&sandbox->operation);
  const SandboxRecord found = sandbox->Snapshot();
  // Half made or half removed: it stays so, and holds nothing after this.
  if (found.state == SandboxState::kRemoving) return GiveBack(found);
  const absl::Status stopped = StopSandboxLocked(sandbox);
  const absl::Status saved = SaveStopped(*parts_.options.store, *sandbox);
  PLIMSOLL_RETURN_IF_ERROR(stopped);
  if (saved.ok()) return saved;
  const absl::Status left = LeaveTraceOfStop(parts_.options.run, sandbox->Snapshot());
  // The pod is stopped, even if a full disk can't record it.
  if (!IsUnwritable(saved) || !left.ok()) return saved;
  parts_.options.events->Warn(sandbox->id, "", saved);
  return absl::OkStatus();
}

absl::StatusOr<SandboxRecord> EngineImpl::PutOnRecordAsRemoved(Sandbox& sandbox) {
  absl::MutexLock lock(&sandbox.mutex);
  SandboxRecord record = sandbox.record;
  PLIMSOLL_RETURN_IF_ERROR(CheckTransition(sandbox.id, record.state, SandboxState::kRemoving));
  record.state = SandboxState::kRemoving;
  absl::Status put = parts_.options.store->PutSandbox(record);
  if (absl::IsResourceExhausted(put)) {
    const absl::Status marked =
        parts_.options.run.ReplaceFile(UpdateMarkOf(RemovalMarkIdOf(sandbox.id)), "", 0600);
    if (marked.ok()) put = marked;
  }
  PLIMSOLL_RETURN_IF_ERROR(put);
  sandbox.record.state = SandboxState::kRemoving;
  return record;
}

absl::Status EngineImpl::RemoveSandbox(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, parts_.objects.FindSandbox(id));
  const CallOff call_off(sandbox->turns, sandbox->id);
  absl::MutexLock operation(&sandbox->operation);
  // Another call may have been quicker.
  if (!parts_.objects.FindSandbox(sandbox->id).ok()) return absl::OkStatus();
  const SandboxRecord found = sandbox->Snapshot();
  absl::Status saved;
  if (found.state == SandboxState::kRemoving) {
    PLIMSOLL_RETURN_IF_ERROR(GiveBack(found));
  } else {
    const absl::Status stopped = StopSandboxLocked(sandbox);
    saved = SaveStopped(*parts_.options.store, *sandbox);
    PLIMSOLL_RETURN_IF_ERROR(stopped);
    if (!saved.ok()) {
      // The removal may fail, or the daemon end before it.
      const absl::Status left = LeaveTraceOfStop(parts_.options.run, sandbox->Snapshot());
      // A row that a full disk refused may be saved once the containers' files are gone.
      if (!absl::IsResourceExhausted(saved)) return saved;
      if (!left.ok()) parts_.options.events->Warn(sandbox->id, "", left);
    }
  }
  for (const auto& container : parts_.objects.ContainersOf(sandbox->id)) {
    PLIMSOLL_RETURN_IF_ERROR(
        UnlessGone(parts_.objects, *container, RemoveContainer(container->id)));
  }
  if (!saved.ok()) PLIMSOLL_RETURN_IF_ERROR(SaveStopped(*parts_.options.store, *sandbox));
  PLIMSOLL_ASSIGN_OR_RETURN(const SandboxRecord record, PutOnRecordAsRemoved(*sandbox));
  for (const std::string& mark : {record.id, RoomMarkIdOf(record.id)}) {
    const absl::Status unmarked = parts_.options.run.RemoveFile(UpdateMarkOf(mark));
    if (!absl::IsNotFound(unmarked)) PLIMSOLL_RETURN_IF_ERROR(unmarked);
  }
  // ReportCurrent writes there, without the lock of an operation.
  call_off.AwaitEnd();
  PLIMSOLL_RETURN_IF_ERROR(RemoveSandboxPlace(parts_.options.host, parts_.options.run, record.id));
  PLIMSOLL_RETURN_IF_ERROR(parts_.groups.RemoveAll(*sandbox));
  PLIMSOLL_RETURN_IF_ERROR(parts_.options.store->RemoveSandbox(record.id));
  parts_.options.run.RemoveFile(UpdateMarkOf(RemovalMarkIdOf(record.id))).IgnoreError();
  parts_.objects.ReleaseName(record.id);
  parts_.objects.RemoveSandbox(record.id, [&] {
    parts_.options.events->Add(EventType::kSandboxRemoved, record, FullName(record.spec));
  });
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
