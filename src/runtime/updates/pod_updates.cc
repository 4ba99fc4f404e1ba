#include "runtime/updates/pod_updates.h"

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/cgroup/merge.h"
#include "resources/cpu_set.h"
#include "runtime/cgroups/class_files.h"
#include "runtime/cgroups/group_paths.h"
#include "runtime/cgroups/group_settings.h"
#include "runtime/cgroups/pod_group_settings.h"
#include "runtime/objects/state_machine.h"
#include "runtime/objects/update_mark.h"
#include "runtime/oci/fit.h"
#include "runtime/requests/picture_parts.h"
#include "runtime/spec/json.h"
#include "runtime/updates/memory_shrink.h"
#include "runtime/updates/quota_bounds.h"

namespace plimsoll::runtime {
namespace {

// The part of `has` that `wanted` lacks, as a list. Empty if there is none, or if either is no
// list.
std::string LeftOut(const std::optional<std::string>& wanted,
                    const std::optional<std::string>& has) {
  if (wanted.value_or("").empty() || has.value_or("").empty()) return "";
  const auto within = resources::CpuSet::Parse(*wanted);
  const auto held = resources::CpuSet::Parse(*has);
  return within.ok() && held.ok() ? held->Difference(*within).ToString() : "";
}

// Names the container whose CPUs or memory nodes the pod's new cpuset lacks: cgroup v1 says "busy"
// and no more.
absl::Status NameWhoIsOutside(const linux::CgroupManager& cgroups, const std::string& pod,
                              const std::vector<ContainerRecord>& containers,
                              const linux::CgroupSettings& wanted, const absl::Status& refused) {
  for (const ContainerRecord& container : containers) {
    if (container.sandbox_id != pod || !HasProcess(container)) continue;
    const absl::StatusOr<linux::CgroupSettings> has = cgroups.Read(container.cgroup_path);
    if (!has.ok()) continue;
    const std::string cpus = LeftOut(wanted.cpuset_cpus, has->cpuset_cpus);
    const std::string nodes = LeftOut(wanted.cpuset_mems, has->cpuset_mems);
    if (cpus.empty() && nodes.empty()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        cpus.empty() ? "cpuset_mems" : "cpuset_cpus", " \"",
        cpus.empty() ? *wanted.cpuset_mems : *wanted.cpuset_cpus, "\" leaves out ",
        cpus.empty() ? "memory nodes " : "CPUs ", cpus.empty() ? nodes : cpus, ", but container \"",
        container.spec.name, "\" has them: update the container first (", refused.message(), ")"));
  }
  return refused;
}

// True if the container has a list of its own of a kind that is changed.
bool HasOwnList(const linux::CgroupSettings& own, const linux::CgroupSettings& changed) {
  return (changed.cpuset_cpus.has_value() && !own.cpuset_cpus.value_or("").empty()) ||
         (changed.cpuset_mems.has_value() && !own.cpuset_mems.value_or("").empty());
}

}  // namespace

absl::Status PodUpdates::SaveAsked(Sandbox& sandbox, const SandboxSpec& asked) const {
  absl::MutexLock lock(&sandbox.mutex);
  SandboxRecord record = sandbox.record;
  record.spec.resources = asked.resources;
  record.spec.overhead = asked.overhead;
  record.spec.pod_resources = asked.pod_resources;
  record.spec.announced = asked.announced;
  record.spec.needed_before = asked.needed_before;
  record.spec.update_annotations = asked.update_annotations;
  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutSandbox(record));
  sandbox.record = std::move(record);
  return absl::OkStatus();
}

absl::Status PodUpdates::Apply(const SandboxRecord& record,
                               const linux::CgroupSettings& settings) const {
  if (!OwnsItsGroup(record)) return absl::OkStatus();
  std::optional<absl::ReaderMutexLock> no_reload;
  if (options_.classes != nullptr) no_reload.emplace(&options_.classes->definitions());
  linux::CgroupSettings writable = settings;
  LeaveOut(ClassFilesOf(options_.classes, record.id), &writable);  // kept for when the class goes
  std::vector<std::string> lost;
  writable = FitSettings(writable, options_.runtime->machine(), &lost);
  confinement_->PutPodIntoShare(&writable);
  writable = WithWeight(*options_.cgroups, *options_.runtime, "", std::move(writable));
  PLIMSOLL_RETURN_IF_ERROR(options_.cgroups->Apply(record.cgroup_path, writable));
  for (const std::string& warning : lost) {
    options_.events->Add(EventType::kWarning, record.id, "", warning);
  }
  return absl::OkStatus();
}

absl::Status PodUpdates::MakeRoomFor(const SandboxRecord& record,
                                     const linux::CgroupSettings& settings,
                                     UpdateMark* mark) const {
  if (!OwnsItsGroup(record) || settings.memory_limit_bytes.value_or(-1) < 0) {
    return absl::OkStatus();
  }
  std::optional<absl::ReaderMutexLock> no_reload;
  if (options_.classes != nullptr) no_reload.emplace(&options_.classes->definitions());
  // The class's limit holds; the one asked for takes effect once the class is released.
  if (absl::c_linear_search(ClassFilesOf(options_.classes, record.id), "memory.max"))
    return absl::OkStatus();
  return MakeRoom(*options_.cgroups, record.cgroup_path, *settings.memory_limit_bytes, mark);
}

absl::Status PodUpdates::Finish(const SandboxRecord& record) const {
  const std::string room_mark = RoomMarkIdOf(record.id);
  absl::Status room = PutLimitBack(*options_.cgroups, options_.run, room_mark, record.cgroup_path);
  if (room.ok()) room = options_.run.RemoveFile(UpdateMarkOf(room_mark));
  absl::Status limits = FinishLimits(record);
  if (limits.ok()) limits = options_.run.RemoveFile(UpdateMarkOf(record.id));
  return FirstError(room, limits);
}

absl::Status PodUpdates::FinishLimits(const SandboxRecord& record) const {
  const absl::StatusOr<std::string> mark = options_.run.Read(UpdateMarkOf(record.id));
  if (absl::IsNotFound(mark.status())) return absl::OkStatus();
  constexpr char kWhat[] = "finish an interrupted update of a pod";
  if (!mark.ok()) return Annotate(mark.status(), kWhat);
  const auto update = CgroupSettingsFromJson(*mark);
  if (!update.ok()) return Annotate(update.status(), kWhat);
  // The row is written first: if it lacks the update, so does the kernel.
  const linux::CgroupSettings asked = PodGroupSettings(record.spec);
  linux::CgroupSettings with_update = asked;
  linux::MergeInto(*update, &with_update);
  if (with_update != asked) return absl::OkStatus();
  const absl::Status done = Apply(record, *update);
  return absl::IsNotFound(done) ? absl::OkStatus() : Annotate(done, kWhat);
}

absl::Status PodUpdates::Update(const std::shared_ptr<Sandbox>& sandbox,
                                const SandboxUpdate& update) {
  HandlerUpdates::SizeReport report;
  absl::Status done;
  {
    absl::MutexLock operation(&sandbox->operation);
    done = UpdateAlone(*sandbox, update, &report);
    if (done.ok()) plugin_hooks_->SandboxUpdated(sandbox->Snapshot());
  }
  if (report.is_due) handler_updates_->ReportCurrent(sandbox->id, "");
  return done;
}

absl::Status PodUpdates::Check(const SandboxRecord& record, const SandboxUpdate& update,
                               std::string* lost) const {
  PLIMSOLL_RETURN_IF_ERROR(CheckSettings(update.resources, options_.runtime->machine()));
  PLIMSOLL_RETURN_IF_ERROR(CheckSettings(update.overhead, options_.runtime->machine()));
  PLIMSOLL_ASSIGN_OR_RETURN(*lost, confinement_->CheckPod(update.resources));
  return plugin_hooks_->UpdateSandbox(record, update);
}

absl::Status PodUpdates::UpdateAlone(Sandbox& sandbox, const SandboxUpdate& update,
                                     HandlerUpdates::SizeReport* report) {
  const SandboxRecord record = sandbox.Snapshot();
  if (record.state != SandboxState::kReady) {
    return absl::FailedPreconditionError(absl::StrCat("sandbox ", record.id, " is ",
                                                      StateName(record.state),
                                                      "; an update needs one that is Ready"));
  }
  const std::string what = absl::StrCat("update sandbox ", record.id);
  std::string lost;
  PLIMSOLL_RETURN_IF_ERROR(Annotate(Check(record, update, &lost), what));
  SandboxRecord wanted = record;
  SandboxSpec& asked = wanted.spec;
  linux::MergeUpdate(update.resources, options_.cgroups->layout(), &asked.resources);
  linux::MergeInto(update.overhead, &asked.overhead);
  if (update.pod_resources) AnnounceAnew(*update.pod_resources, pictures_->NextWord(), &asked);
  asked.update_annotations = update.annotations;
  PLIMSOLL_ASSIGN_OR_RETURN(const bool takes_turns, handlers_->TakesTurns(record));
  std::optional<HandlerTurn> turn;
  absl::Status done;
  if (takes_turns) {
    turn.emplace(sandbox.turns, sandbox.id);
    done = ReportToHandler(record, update, &wanted, *turn, report);
  }
  if (done.ok()) done = Make(sandbox, record, update, asked);
  handler_updates_->Close(record.id, done.ok(), report);
  if (!done.ok()) return Annotate(done, what);
  confinement_->TellPodLost(record.id, lost);
  pictures_->Show(record.id);
  pictures_->TellContradiction(record.id, &record.spec, asked);
  return absl::OkStatus();
}

absl::Status PodUpdates::ReportToHandler(const SandboxRecord& record, const SandboxUpdate& update,
                                         SandboxRecord* wanted, HandlerTurn& turn,
                                         HandlerUpdates::SizeReport* report) const {
  PLIMSOLL_RETURN_IF_ERROR(turn.status());
  PLIMSOLL_RETURN_IF_ERROR(handlers_->CheckFixed(record, *wanted, update.resources));
  wanted->spec.needed_before = InWriting(handlers_->NeedsOf(record));
  return handler_updates_->ReportBefore(record, {*wanted}, turn, report);
}

absl::Status PodUpdates::Make(Sandbox& sandbox, const SandboxRecord& record,
                              const SandboxUpdate& update, const SandboxSpec& asked) {
  const linux::CgroupSettings changed =
      ChangedSettings(PodGroupSettings(record.spec), PodGroupSettings(asked), update.resources);
  PLIMSOLL_RETURN_IF_ERROR(
      PutLimitBack(*options_.cgroups, options_.run, RoomMarkIdOf(record.id), record.cgroup_path));
  UpdateMark room(options_.run, RoomMarkIdOf(record.id));  // its end removes the earlier mark
  const UpdateMark mark(options_.run, record.id);
  PLIMSOLL_RETURN_IF_ERROR(mark.Set(ToJson(changed)));
  // The row first, as with a container.
  PLIMSOLL_RETURN_IF_ERROR(SaveAsked(sandbox, asked));
  return ApplyOrSetBack(sandbox, record, update, changed, &room);
}

absl::Status PodUpdates::ApplyOrSetBack(Sandbox& sandbox, const SandboxRecord& record,
                                        const SandboxUpdate& update,
                                        const linux::CgroupSettings& changed,
                                        UpdateMark* room) const {
  absl::Status done;
  if (update.shrink_memory) done = MakeRoomFor(record, changed, room);
  // On v1 a pod's cpuset must include its containers'. Containers without a list of their own have
  // the pod's: they change before it if it loses CPUs, and after it if it gets some.
  const bool moves = options_.cgroups->layout() != linux::CgroupLayout::kV2 &&
                     confinement_->HasCpusets() &&
                     (changed.cpuset_cpus.has_value() || changed.cpuset_mems.has_value());
  if (done.ok()) done = Apply(record, changed);
  if (moves && ErrnoOf(done) == EBUSY) {
    FollowWithin(sandbox, changed);
    done = Apply(record, changed);
  }
  if (moves && done.ok()) FollowWithin(sandbox, changed);
  if (ErrnoOf(done) == EBUSY) {
    done = NameWhoIsOutside(*options_.cgroups, record.id, objects_->ListContainers(),
                            update.resources, done);
  }
  done =
      NameContainersQuota(*options_.cgroups, record.id, objects_->ListContainers(), changed, done);
  if (done.ok()) return done;
  const absl::Status undone = SaveAsked(sandbox, record.spec);
  if (moves) FollowWithin(sandbox, changed);
  return AlsoNotSetBack(done, undone);
}

void PodUpdates::FollowWithin(const Sandbox& sandbox, const linux::CgroupSettings& changed) const {
  confinement_->FollowShare(sandbox);
  for (const auto& container : objects_->ContainersOf(sandbox.id)) {
    if (HasOwnList(container->Snapshot().spec.resources, changed)) continue;
    confinement_->FollowShare(*container);
  }
}

}  // namespace plimsoll::runtime
