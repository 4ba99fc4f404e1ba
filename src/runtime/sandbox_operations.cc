#include <cstdio>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/random_id.h"
#include "base/status.h"
#include "linux/cgroup/tree.h"
#include "runtime/engine_impl.h"
#include "runtime/handlers/handler.h"
#include "runtime/oci/fit.h"
#include "runtime/pod_group_settings.h"
#include "runtime/sandbox_place.h"
#include "runtime/state_machine.h"
#include "runtime/store/unwritable.h"
#include "runtime/update_mark.h"

namespace plimsoll::runtime {
namespace {

// Where a keeper is needed (CgroupManager::MakeKeeper), its group; else empty. With the id: several
// pods may name one cgroup parent.
std::string KeeperOf(const SandboxRecord& record) {
  if (!absl::EndsWith(record.cgroup_path, ".slice")) return "";
  return absl::StrCat(record.cgroup_path, "/plimsoll-keep-", record.id);
}

// Of one whose end was told.
absl::Status SaveStopped(Store& store, Sandbox& sandbox) {
  absl::MutexLock lock(&sandbox.mutex);
  if (!sandbox.unsaved) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(store.PutSandbox(sandbox.record));
  sandbox.unsaved = false;
  return absl::OkStatus();
}

// Where there is no room for a new file, one that no container needs any more becomes the mark: to
// rename it takes none.
absl::Status LeaveMark(const FsRoot& run, const std::string& id) {
  const std::string mark = StoppedFileOf(id);
  const absl::Status marked = run.ReplaceFile(mark, "");
  if (!absl::IsResourceExhausted(marked)) return marked;
  const std::string spare = absl::StrCat(mark.substr(0, mark.rfind('/')), "/resolv.conf");
  return renameat(run.fd(), spare.c_str(), run.fd(), mark.c_str()) == 0 ? absl::OkStatus() : marked;
}

// Before anything of a pod is given back: whoever starts after a kill in between finds it NotReady,
// and gives back the rest. Where even the mark can't be made on a full disk, the stop goes on.
absl::Status MarkAsStopping(const FsRoot& run, const SandboxRecord& record) {
  if (record.state != SandboxState::kReady) return absl::OkStatus();
  const absl::Status marked = LeaveMark(run, record.id);
  // Without a place it has no namespaces: the next daemon finds that.
  if (absl::IsNotFound(marked) || absl::IsResourceExhausted(marked)) return absl::OkStatus();
  return marked;
}

// Has the next daemon find out that a pod is stopped whose row says Ready: it looks for namespaces,
// and for a mark, which there was no room for when the stop began.
absl::Status LeaveTraceOfStop(const FsRoot& run, const SandboxRecord& record) {
  PLIMSOLL_ASSIGN_OR_RETURN(const PlaceState place,
                            LookAtSandboxPlace(run, record.id, record.spec));
  if (place != PlaceState::kWhole) return absl::OkStatus();
  return LeaveMark(run, record.id);
}

// Does both to their ends, side by side; the error of the first goes before that of the second.
absl::Status AtOnce(absl::FunctionRef<absl::Status()> first,
                    absl::FunctionRef<absl::Status()> second) {
  absl::Status second_status;
  std::thread beside;
  try {
    beside = std::thread([&] { second_status = second(); });
  } catch (const std::system_error&) {  // no thread is to be had: one after the other
  }
  const absl::Status first_status = first();
  if (beside.joinable()) {
    beside.join();
  } else {
    second_status = second();
  }
  return FirstError(first_status, second_status);
}

}  // namespace

absl::Status EngineImpl::PlanPodCgroup(SandboxRecord* record) {
  const std::string& parent = record->spec.cgroup_parent;
  if (parent.empty()) {
    record->cgroup_path = linux::ChildCgroup(options_.default_cgroup_parent, record->id);
  } else {
    PLIMSOLL_ASSIGN_OR_RETURN(record->cgroup_path, linux::ExpandCgroupParent(parent));
  }
  for (const std::string& group : linux::GroupAndParents(record->cgroup_path)) {
    // Our own group is kept for the next pod: only what is below it belongs to this one.
    if (group == "/" || group == options_.default_cgroup_parent) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, options_.cgroups->Exists(group));
    if (!exists) record->owned_cgroups.push_back(group);
  }
  const std::string keeper = KeeperOf(*record);
  if (!keeper.empty()) record->owned_cgroups.push_back(keeper);
  return absl::OkStatus();
}

absl::Status EngineImpl::MakePodCgroup(SandboxRecord* record) {
  const std::string keeper = KeeperOf(*record);
  const bool is_whole = record->owned_cgroups.size() > (keeper.empty() ? 0u : 1u);
  std::vector<std::string> made;
  if (is_whole) {
    PLIMSOLL_ASSIGN_OR_RETURN(made, options_.cgroups->Create(record->cgroup_path));
  }
  if (!keeper.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto kept, options_.cgroups->MakeKeeper(keeper));
    made.insert(made.end(), kept.begin(), kept.end());
  }
  // What somebody else has made since it was planned is not ours.
  std::erase_if(record->owned_cgroups,
                [&](const std::string& group) { return !absl::c_linear_search(made, group); });
  const linux::CgroupSettings settings = PodGroupSettings(record->spec);
  if (!is_whole || settings == linux::CgroupSettings()) return absl::OkStatus();
  std::vector<std::string> lost;
  const linux::CgroupSettings given = FitSettings(settings, *options_.runtime, &lost);
  for (const std::string& warning : lost) {
    options_.events->Add(EventType::kWarning, record->id, "", warning);
  }
  return options_.cgroups->Apply(record->cgroup_path, given);
}

absl::Status EngineImpl::RemoveOwnedCgroups(const SandboxRecord& record) {
  absl::MutexLock lock(&cgroups_mutex_);
  return RemoveOwnedCgroupsLocked(record);
}

absl::Status EngineImpl::RemoveOwnedCgroupsLocked(const SandboxRecord& record) {
  absl::Status status;
  for (auto it = record.owned_cgroups.rbegin(); it != record.owned_cgroups.rend(); ++it) {
    const absl::StatusOr<bool> taken = HandOver(*it, record.id);
    status = FirstError(status, taken.status());
    if (!taken.ok() || *taken) continue;
    // Above the pod there may be groups of others by now; and in one that never had a container of
    // ours whatever is there is somebody else's.
    const bool whole = *it == record.cgroup_path && record.state != SandboxState::kCreating;
    status = FirstError(
        status, whole ? options_.cgroups->Remove(*it) : options_.cgroups->RemoveIfUnused(*it));
  }
  return status;
}

absl::StatusOr<bool> EngineImpl::HandOver(const std::string& group, const std::string& from) {
  const auto uses = [&](const SandboxRecord& record) {
    return record.id != from && (record.cgroup_path == group ||
                                 absl::StartsWith(record.cgroup_path, absl::StrCat(group, "/")));
  };
  const auto give_to = [&](SandboxRecord* heir) -> absl::StatusOr<bool> {
    if (absl::c_linear_search(heir->owned_cgroups, group)) return true;
    const auto longer = [&](const std::string& other) { return other.size() > group.size(); };
    // Outermost first.
    heir->owned_cgroups.insert(absl::c_find_if(heir->owned_cgroups, longer), group);
    PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(*heir));
    return true;
  };
  for (SandboxRecord* record : in_the_making_) {
    if (uses(*record)) return give_to(record);
  }
  std::vector<std::shared_ptr<Sandbox>> all = objects_.Sandboxes();
  for (const std::shared_ptr<Sandbox>& sandbox : all) {
    absl::MutexLock lock(&sandbox->mutex);
    if (uses(sandbox->record)) return give_to(&sandbox->record);
  }
  return false;
}

absl::Status EngineImpl::CheckUserNamespace(const SandboxRecord& record) const {
  const SandboxSpec& spec = record.spec;
  if (!spec.namespaces.has_user_namespace()) return absl::OkStatus();
  const std::string what =
      absl::StrCat("pod ", spec.pod_namespace, "/", spec.name, ": a user namespace of its own");
  PLIMSOLL_ASSIGN_OR_RETURN(const Handler* handler, HandlerOf(record));
  if (handler != nullptr && handler->is_vm) {
    return absl::FailedPreconditionError(
        absl::StrCat(what, " can't be had from the runtime handler ", spec.runtime_handler,
                     ", which runs pods in virtual machines"));
  }
  const absl::Status possible = options_.runtime->UserNamespaces();
  return possible.ok() ? possible : Annotate(possible, absl::StrCat(what, " can't be had here"));
}

std::string EngineImpl::LevelFor(const SandboxSpec& spec) const {
  constexpr int kAttempts = 100;  // of half a million
  const linux::SelinuxLabels* labels = options_.runtime->Selinux();
  if (labels == nullptr || !spec.selinux.level.empty()) return spec.selinux.level;
  std::vector<std::string> taken;
  for (const SandboxRecord& record : objects_.ListSandboxes())
    taken.push_back(record.spec.selinux.level);
  std::string level = linux::RandomLevel(labels->process);
  for (int i = 0; i < kAttempts && absl::c_linear_search(taken, level); ++i) {
    level = linux::RandomLevel(labels->process);
    if (level.empty()) break;
  }
  return level;
}

absl::StatusOr<std::string> EngineImpl::FileLabelOf(const SandboxSpec& spec) const {
  const linux::SelinuxLabels* labels = options_.runtime->Selinux();
  if (labels == nullptr) return std::string();
  const auto own = linux::LabelsWith("selinux_options", *labels, spec.selinux);
  if (own.ok()) return own->file;
  return Annotate(own.status(), absl::StrCat("pod ", spec.pod_namespace, "/", spec.name));
}

absl::StatusOr<std::string> EngineImpl::RunSandbox(const SandboxSpec& spec,
                                                   std::string client_config) {
  SandboxRecord record;
  record.id = RandomId();
  record.created_unix_nanos = options_.clock->NowUnixNanos();
  record.boot_id = boot_id_;
  record.spec = spec;
  record.client_config = std::move(client_config);
  PLIMSOLL_RETURN_IF_ERROR(CheckUserNamespace(record));
  PLIMSOLL_RETURN_IF_ERROR(Annotate(CheckSettings(PodGroupSettings(spec), *options_.runtime),
                                    absl::StrCat("pod ", spec.pod_namespace, "/", spec.name)));
  record.spec.selinux.level = LevelFor(spec);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string file_label, FileLabelOf(record.spec));

  const std::string key = NameKey(spec);
  PLIMSOLL_RETURN_IF_ERROR(objects_.ReserveName(
      key, record.id,
      absl::StrCat("pod ", spec.pod_namespace, "/", spec.name, " (attempt ", spec.attempt, ")")));
  absl::Cleanup release_name = [&] { objects_.ReleaseName(record.id); };
  PLIMSOLL_RETURN_IF_ERROR(CheckSize(record));
  std::move(release_name).Cancel();
  absl::Cleanup undo = [&] { UndoSandbox(std::move(record)); };
  absl::Cleanup forget = [&] {
    absl::MutexLock lock(&cgroups_mutex_);
    std::erase(in_the_making_, &record);
  };
  PLIMSOLL_RETURN_IF_ERROR(ReserveClasses(spec, &record));
  StartPhase phase(options_.observe_phase);
  {
    // Written down before it is made, so that nothing is ours that the store doesn't know of.
    absl::MutexLock lock(&cgroups_mutex_);
    PLIMSOLL_RETURN_IF_ERROR(PlanPodCgroup(&record));
    PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(record));
    in_the_making_.push_back(&record);
    PLIMSOLL_RETURN_IF_ERROR(MakePodCgroup(&record));
  }
  PLIMSOLL_RETURN_IF_ERROR(EnforceClasses(TargetOf(record)));
  readier_.Expect();  // a container is likely to follow; not before: groups are made slowly then
  phase.Done("sandbox_cgroup");
  PLIMSOLL_RETURN_IF_ERROR(
      MakeSandboxPlace(options_.host, options_.run, record.id, record.spec, file_label));
  PLIMSOLL_RETURN_IF_ERROR(KeepAnnounced(record));
  phase.Done("sandbox_namespaces");

  std::optional<HeldPause> pause;
  absl::Duration held_for;
  const auto attach = [&] { return AttachNetwork(record); };
  const auto hold = [&]() -> absl::Status {
    const absl::Time start = absl::Now();
    PLIMSOLL_ASSIGN_OR_RETURN(pause, MakePodPidNamespace(&record));
    held_for = absl::Now() - start;
    return absl::OkStatus();
  };
  PLIMSOLL_RETURN_IF_ERROR(spec.namespaces.pid == NamespaceMode::kPod ? AtOnce(attach, hold)
                                                                      : attach());
  if (pause.has_value() && options_.observe_phase) {
    options_.observe_phase("sandbox_pid_namespace", held_for);
  }

  std::string id = record.id;
  std::shared_ptr<Sandbox> sandbox;
  {
    absl::MutexLock lock(&cgroups_mutex_);
    record.state = SandboxState::kReady;
    if (absl::Status saved = options_.store->PutSandbox(record); !saved.ok()) {
      record.state = SandboxState::kCreating;
      return saved;
    }
    std::move(forget).Cancel();
    std::erase(in_the_making_, &record);
    const SandboxRecord started = record;
    sandbox = std::make_shared<Sandbox>(std::move(record));
    objects_.AddSandbox(sandbox, [&] {
      options_.events->Add(EventType::kSandboxStarted, started, FullName(spec));
    });
  }
  // Only what is recorded stays. If it has died meanwhile, WatchPause finds that.
  if (pause.has_value()) options_.events->Warn(id, "", pause->Release());
  std::move(undo).Cancel();
  ShowPicture(id);
  TellContradiction(id, nullptr, sandbox->Snapshot().spec);
  options_.events->Warn(id, "", WatchPause(sandbox));
  return id;
}

absl::Status EngineImpl::UnmakeSandbox(const SandboxRecord& record) {
  for (const auto& container : objects_.ContainersOf(record.id)) {
    PLIMSOLL_RETURN_IF_ERROR(UnlessGone(*container, RemoveContainer(container->id)));
  }
  // Each is tried, whatever the one before it came to; the row goes when nothing else is left.
  absl::Status status = EndPodPidNamespace(record);
  ReleaseClasses(record.id, "", TargetOf(record));
  const absl::Status detached = DetachNetwork(record.id);
  status = FirstError(status, detached);
  // Network plugins that are asked again need the namespace: without it some leave rules behind.
  if (detached.ok()) {
    status = FirstError(status, RemoveSandboxPlace(options_.host, options_.run, record.id));
  }
  status = FirstError(status, RemoveOwnedCgroups(record));
  PLIMSOLL_RETURN_IF_ERROR(status);
  return options_.store->RemoveSandbox(record.id);
}

void EngineImpl::UndoSandbox(SandboxRecord record) {
  const absl::Status unmade = UnmakeSandbox(record);
  if (unmade.ok()) return objects_.ReleaseName(record.id);
  options_.events->Warn(
      record.id, "",
      Annotate(unmade,
               "what a creation that failed has left can't be removed now (remove the "
               "sandbox, or restart the daemon, to try again)"));
  record.state = SandboxState::kRemoving;
  objects_.AddSandbox(std::make_shared<Sandbox>(std::move(record)));
}

// Of a container of a pod: another call may have removed it meanwhile. NOT_FOUND may also be of
// something that the container needs, while it is still there.
absl::Status EngineImpl::UnlessGone(const Container& container, absl::Status status) const {
  const bool is_gone =
      absl::IsNotFound(status) && absl::IsNotFound(objects_.FindContainer(container.id).status());
  return is_gone ? absl::OkStatus() : status;
}

absl::Status EngineImpl::StopSandboxLocked(const std::shared_ptr<Sandbox>& sandbox) {
  for (const auto& container : objects_.ContainersOf(sandbox->id)) {
    PLIMSOLL_RETURN_IF_ERROR(
        UnlessGone(*container, StopContainer(container->id, absl::ZeroDuration())));
  }
  SandboxRecord record;
  {
    absl::MutexLock lock(&sandbox->mutex);
    sandbox->stopping = true;
    record = sandbox->record;
  }
  PLIMSOLL_RETURN_IF_ERROR(MarkAsStopping(options_.run, record));
  PLIMSOLL_RETURN_IF_ERROR(EndPodPidNamespace(record));
  PLIMSOLL_RETURN_IF_ERROR(DetachNetwork(record.id));
  PLIMSOLL_RETURN_IF_ERROR(ReleaseSandboxPlace(options_.host, options_.run, sandbox->id));
  {
    absl::MutexLock lock(&sandbox->mutex);
    if (sandbox->record.state != SandboxState::kNotReady) {
      PLIMSOLL_RETURN_IF_ERROR(
          CheckTransition(sandbox->id, sandbox->record.state, SandboxState::kNotReady));
      sandbox->record.state = SandboxState::kNotReady;
      sandbox->unsaved = true;
      // Whether or not it can be saved: nothing of it runs, and the next daemon would find that.
      options_.events->Add(EventType::kSandboxStopped, sandbox->record,
                           FullName(sandbox->record.spec));
    }
  }
  // One whose init has died is NotReady already, and holds its classes still.
  ReleaseClasses(record.id, "", TargetOf(record));
  return absl::OkStatus();
}

absl::Status EngineImpl::StopSandbox(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, objects_.FindSandbox(id));
  const CallOff call_off(sandbox->turns, sandbox->id);
  absl::MutexLock operation(&sandbox->operation);
  if (sandbox->Snapshot().state == SandboxState::kRemoving) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(StopSandboxLocked(sandbox));
  const absl::Status saved = SaveStopped(*options_.store, *sandbox);
  if (saved.ok()) return saved;
  const absl::Status left = LeaveTraceOfStop(options_.run, sandbox->Snapshot());
  // A full disk is no reason to say that a pod runs of which nothing is left.
  if (!IsUnwritable(saved) || !left.ok()) return saved;
  options_.events->Warn(sandbox->id, "", saved);
  return absl::OkStatus();
}

absl::Status EngineImpl::RemoveSandbox(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, objects_.FindSandbox(id));
  const CallOff call_off(sandbox->turns, sandbox->id);
  absl::MutexLock operation(&sandbox->operation);
  if (!objects_.FindSandbox(sandbox->id).ok()) return absl::OkStatus();  // another call was quicker
  const SandboxRecord found = sandbox->Snapshot();
  absl::Status saved;
  if (found.state == SandboxState::kRemoving) {
    // One that was half made or half removed may still have its PID namespace and its network.
    PLIMSOLL_RETURN_IF_ERROR(EndPodPidNamespace(found));
    PLIMSOLL_RETURN_IF_ERROR(DetachNetwork(found.id));
  } else {
    PLIMSOLL_RETURN_IF_ERROR(StopSandboxLocked(sandbox));
    saved = SaveStopped(*options_.store, *sandbox);
    if (!saved.ok()) {
      // The removal may end early, or the daemon before it.
      const absl::Status left = LeaveTraceOfStop(options_.run, sandbox->Snapshot());
      // What could not be saved on a full disk may be once the containers' files are gone.
      if (!absl::IsResourceExhausted(saved)) return saved;
      if (!left.ok()) options_.events->Warn(sandbox->id, "", left);
    }
  }
  for (const auto& container : objects_.ContainersOf(sandbox->id)) {
    PLIMSOLL_RETURN_IF_ERROR(UnlessGone(*container, RemoveContainer(container->id)));
  }
  if (!saved.ok()) PLIMSOLL_RETURN_IF_ERROR(SaveStopped(*options_.store, *sandbox));
  SandboxRecord record;
  {
    absl::MutexLock lock(&sandbox->mutex);
    PLIMSOLL_RETURN_IF_ERROR(
        CheckTransition(sandbox->id, sandbox->record.state, SandboxState::kRemoving));
    sandbox->record.state = SandboxState::kRemoving;
    record = sandbox->record;
    PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(record));
  }
  for (const std::string& mark : {record.id, RoomMarkIdOf(record.id)}) {
    const absl::Status unmarked = options_.run.RemoveFile(UpdateMarkOf(mark));
    if (!absl::IsNotFound(unmarked)) PLIMSOLL_RETURN_IF_ERROR(unmarked);
  }
  // Who tells the handler what holds writes there, under no lock of an operation (TellBack).
  call_off.AwaitEnd();
  PLIMSOLL_RETURN_IF_ERROR(RemoveSandboxPlace(options_.host, options_.run, record.id));
  {
    // Another that was removed beside it may have handed something over since.
    absl::MutexLock lock(&cgroups_mutex_);
    PLIMSOLL_RETURN_IF_ERROR(RemoveOwnedCgroupsLocked(sandbox->Snapshot()));
    absl::MutexLock record_lock(&sandbox->mutex);
    sandbox->record.cgroup_path.clear();
    sandbox->record.owned_cgroups.clear();
  }
  PLIMSOLL_RETURN_IF_ERROR(options_.store->RemoveSandbox(record.id));
  objects_.ReleaseName(record.id);
  objects_.RemoveSandbox(record.id, [&] {
    options_.events->Add(EventType::kSandboxRemoved, record, FullName(record.spec));
  });
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
