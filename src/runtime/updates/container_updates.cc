#include "runtime/updates/container_updates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "base/status.h"
#include "linux/cgroup/merge.h"
#include "linux/cgroup/tree.h"
#include "linux/cgroup/validate.h"
#include "linux/process.h"
#include "runtime/cgroups/class_files.h"
#include "runtime/cgroups/group_settings.h"
#include "runtime/cgroups/last_values.h"
#include "runtime/cgroups/plugin_limits.h"
#include "runtime/cgroups/swap_default.h"
#include "runtime/objects/state_machine.h"
#include "runtime/objects/update_mark.h"
#include "runtime/oci/fit.h"
#include "runtime/requests/asked_spec.h"
#include "runtime/spec/json.h"
#include "runtime/updates/memory_shrink.h"
#include "runtime/updates/quota_bounds.h"

namespace plimsoll::runtime {
namespace {

// Replaces NOT_FOUND with its cause: the container has just ended or, if its init runs, its group
// or a file of the group was taken away.
absl::Status OrEnded(const FsRoot& host, const ContainerRecord& record,
                     const absl::Status& status) {
  if (!absl::IsNotFound(status)) return status;
  const bool runs = linux::IsRunning(host, record.init).value_or(false);
  return absl::FailedPreconditionError(
      absl::StrCat(runs ? "its control group or a file in it was removed from outside; remove "
                          "the container and make it again ("
                        : "it has just ended (",
                   status.message(), ")"));
}

// Adds to `before` the present values of the raw files and cpusets that `written` sets: Read leaves
// out raw files and empty cpusets.
void AddUndo(const linux::CgroupManager& cgroups, const std::string& group,
             const linux::CgroupSettings& written, linux::CgroupSettings* before) {
  linux::MergeUpdate({.unified = ReadRawFiles(cgroups, group, written)}, cgroups.layout(), before);
  if (written.cpuset_cpus && !before->cpuset_cpus) before->cpuset_cpus = "";
  if (written.cpuset_mems && !before->cpuset_mems) before->cpuset_mems = "";
}

// Takes over the members that an update of a container changes.
void TakeUpdatedPart(const ContainerSpec& from, ContainerSpec* to) {
  to->resources = from.resources;
  to->oom_score_adj = from.oom_score_adj;
  to->kubernetes_resources = from.kubernetes_resources;
  to->said = from.said;
  to->changed_by = from.changed_by;
  to->asked = from.asked;
}

ContainerSpec UpdatedPartOf(const ContainerSpec& spec) {
  ContainerSpec part;
  TakeUpdatedPart(spec, &part);
  return part;
}

// The record's classes of the types that are being changed.
qos::HeldClasses HeldBefore(const ContainerRecord& record, const qos::HeldClasses& changing) {
  qos::HeldClasses before;
  for (const auto& [type, unused] : changing) {
    const auto held = record.classes.find(type);
    before[type] = held == record.classes.end() ? qos::HeldClass() : held->second;
  }
  return before;
}

}  // namespace

absl::Status ContainerUpdates::SaveAsked(Container& container, const ContainerSpec& asked,
                                         const qos::HeldClasses& changing) const {
  absl::MutexLock lock(&container.mutex);
  ContainerRecord record = container.record;
  TakeUpdatedPart(asked, &record.spec);
  for (const auto& [type, change] : changing) {
    qos::HeldClass& held = record.classes[type];
    held.implicit = change.implicit;
    held.changing_to = change.changing_to;
    if (held.name.empty() && held.changing_to.empty()) record.classes.erase(type);
  }
  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutContainer(record));
  container.record = std::move(record);
  return absl::OkStatus();
}

absl::Status ContainerUpdates::Apply(Container& container, const ContainerRecord& record,
                                     const ResourceUpdate& update, UpdateMark* mark) const {
  std::optional<absl::ReaderMutexLock> no_reload;
  if (options_.classes != nullptr) no_reload.emplace(&options_.classes->definitions());
  // A class's value has precedence; the client's is kept for when the class goes.
  const std::vector<std::string> owned = ClassFilesOf(options_.classes, record.id);
  linux::CgroupSettings writable = update.cgroup;
  LeaveOut(owned, &writable);
  writable = WithWeight(*options_.cgroups, *options_.runtime, record.id, std::move(writable));
  const bool writes_adj =
      update.oom_score_adj.has_value() && !absl::c_linear_search(owned, "oom_score_adj");
  absl::StatusOr<linux::CgroupSettings> before = options_.cgroups->Read(record.cgroup_path);
  if (!before.ok()) return OrEnded(options_.host, record, before.status());
  AddUndo(*options_.cgroups, record.cgroup_path, writable, &*before);
  LeaveOut(owned, &*before);
  const absl::StatusOr<int> adj_before = linux::ReadOomScoreAdj(options_.host, record.init);
  if (!adj_before.ok()) return OrEnded(options_.host, record, adj_before.status());

  if (update.shrink_memory && writable.memory_limit_bytes.value_or(-1) >= 0) {
    PLIMSOLL_RETURN_IF_ERROR(OrEnded(
        options_.host, record,
        MakeRoom(*options_.cgroups, record.cgroup_path, *writable.memory_limit_bytes, mark)));
  }
  if (writes_adj) {
    PLIMSOLL_RETURN_IF_ERROR(
        OrEnded(options_.host, record,
                linux::WriteOomScoreAdj(options_.host, record.init, *update.oom_score_adj)));
  }
  // Apply undoes its own half-done work, and so does Change.
  absl::Status done =
      OrEnded(options_.host, record, options_.cgroups->Apply(record.cgroup_path, writable));
  done = NamePodsQuota(*options_.cgroups, linux::ParentGroup(record.cgroup_path), writable, done);
  if (done.ok()) {
    done = classes_->Change(container, update.classes);
    if (!done.ok())
      done = AlsoNotSetBack(done, options_.cgroups->Apply(record.cgroup_path, *before));
  }
  if (!done.ok() && writes_adj) {
    done = AlsoNotSetBack(done, linux::WriteOomScoreAdj(options_.host, record.init, *adj_before));
  }
  return done;
}

absl::Status ContainerUpdates::Finish(const ContainerRecord& record) const {
  constexpr char kWhat[] = "finish an interrupted update";
  const absl::StatusOr<std::string> mark = options_.run.Read(UpdateMarkOf(record.id));
  if (absl::IsNotFound(mark.status())) return absl::OkStatus();
  if (!mark.ok()) return Annotate(mark.status(), kWhat);
  const std::vector<std::string> owned = ClassFilesOf(options_.classes, record.id);
  linux::CgroupSettings asked = record.spec.resources;
  linux::Settle(options_.cgroups->layout(), &asked);
  LeaveOut(owned, &asked);
  // FollowShare sets the cpuset, once the node's share for pods is known.
  LeaveOut({"cpuset.cpus", "cpuset.mems"}, &asked);
  // With limits in v1, containers are made without v2 files, even if the record has some.
  if (options_.cgroups->layout() != linux::CgroupLayout::kV2) asked.unified.clear();
  std::vector<std::string> told;  // unused: the update has told them
  asked = FitSettings(asked, options_.runtime->machine(), &told);
  const int adj = FitOomScoreAdj(record.spec.oom_score_adj, options_.runtime->machine(), &told);
  absl::Status done;
  if (!mark->empty()) done = WriteShrinkLimit(*options_.cgroups, record.cgroup_path, *mark);
  asked = WithWeight(*options_.cgroups, *options_.runtime, record.id, std::move(asked));
  if (done.ok()) done = options_.cgroups->Apply(record.cgroup_path, asked);
  if (done.ok() && !absl::c_linear_search(owned, "oom_score_adj")) {
    done = linux::WriteOomScoreAdj(options_.host, record.init, adj);
  }
  // NOT_FOUND: it has ended.
  if (!done.ok() && !absl::IsNotFound(done)) return Annotate(done, kWhat);
  return Annotate(options_.run.RemoveFile(UpdateMarkOf(record.id)), kWhat);
}

absl::Status ContainerUpdates::FinishOrTakeBack(ContainerRecord* record) const {
  const absl::Status refused = Finish(*record);
  if (!absl::IsFailedPrecondition(refused)) return refused;
  // The update was killed before the kernel refused it.
  const absl::StatusOr<std::string> before =
      options_.run.Read(UpdateMarkOf(BeforeMarkIdOf(record->id)));
  if (absl::IsNotFound(before.status())) return refused;
  const absl::StatusOr<ContainerSpec> part =
      before.ok() ? ContainerSpecFromJson(*before) : before.status();
  if (!part.ok()) return AlsoNotSetBack(refused, part.status());
  TakeUpdatedPart(*part, &record->spec);
  const absl::Status saved = options_.store->PutContainer(*record);
  const absl::Status finished = saved.ok() ? Finish(*record) : saved;
  return finished.ok() ? AlsoSay(refused, "it has its earlier resources again")
                       : AlsoNotSetBack(refused, finished);
}

absl::StatusOr<ContainerSpec> ContainerUpdates::Merge(
    const ContainerRecord& record, const ResourceUpdate& update,
    const linux::CgroupSettings& by_client) const {
  ContainerSpec asked = record.spec;
  TakeUpdate(update, by_client, options_.cgroups->layout(), &asked);
  // If there is a process, the kernel validates them.
  if (!HasProcess(record)) PLIMSOLL_RETURN_IF_ERROR(linux::ValidateSettings(asked.resources));
  if (update.kubernetes_resources) {
    asked.kubernetes_resources = *update.kubernetes_resources;
    asked.said.resources = pictures_->NextWord();
  }
  return asked;
}

absl::Status ContainerUpdates::Check(const ContainerRecord& record,
                                     const ResourceUpdate& update) const {
  PLIMSOLL_RETURN_IF_ERROR(CheckLive(record, "an update"));
  if (!update.classes.empty()) PLIMSOLL_RETURN_IF_ERROR(CheckProcess(record, "a change of class"));
  absl::Status valid = CheckSettings(update.cgroup, options_.runtime->machine());
  // Checked before the handler hears of it, and again by Make, in the share of that time.
  if (valid.ok()) {
    valid = confinement_->ConfineAsked(update.cgroup, confinement_->Current(), /*is_new=*/false)
                .status();
  }
  if (valid.ok()) {
    valid = CheckPluginLimits(record.spec, update, *options_.runtime);
  }
  if (valid.ok()) valid = classes_->CheckChange(record, update.classes);
  return Annotate(valid, absl::StrCat("update container ", record.id));
}

absl::Status ContainerUpdates::CheckNow(const Container& container,
                                        const ResourceUpdate& update) const {
  const ContainerRecord record = container.Snapshot();
  PLIMSOLL_RETURN_IF_ERROR(Check(record, update));
  return Annotate(Merge(record, update, update.cgroup).status(),
                  absl::StrCat("update container ", record.id));
}

absl::Status ContainerUpdates::ReportToHandler(const ContainerRecord& record,
                                               const ResourceUpdate& update,
                                               const ContainerSpec& asked,
                                               std::optional<HandlerTurn>* turn,
                                               HandlerUpdates::SizeReport* report) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::shared_ptr<Sandbox> sandbox,
                            handler_updates_->SandboxThatTakesTurns(record.sandbox_id));
  // The row is lost, or the sandbox takes no turns.
  if (sandbox == nullptr) return absl::OkStatus();
  turn->emplace(sandbox->turns, record.id);
  PLIMSOLL_RETURN_IF_ERROR((*turn)->status());
  const SandboxRecord pod = sandbox->Snapshot();
  PLIMSOLL_RETURN_IF_ERROR(handlers_->CheckFixed(pod, record.spec, asked, update.cgroup));
  return handler_updates_->ReportBefore(pod, {pod, &asked}, **turn, report);
}

absl::Status ContainerUpdates::MarkAndSave(Container& container, const ContainerSpec& asked,
                                           const qos::HeldClasses& changing, const UpdateMark& mark,
                                           const UpdateMark& classes_mark) const {
  PLIMSOLL_RETURN_IF_ERROR(mark.Set());
  if (!changing.empty()) PLIMSOLL_RETURN_IF_ERROR(classes_mark.Set(ToJson(changing)));
  return SaveAsked(container, asked, changing);
}

void ContainerUpdates::TellUpdated(Container& container, const ContainerRecord& before,
                                   const ResourceUpdate& update, const NodeShare& share,
                                   const std::vector<std::string>& lost) const {
  const ContainerRecord record = container.Snapshot();
  if (confinement_->HasCpusets()) {
    confinement_->TellLost(container, Follow(record.spec.resources, share));
  }
  if (update.kubernetes_resources || pictures_->FollowsLinux(record.sandbox_id)) {
    pictures_->Show(record.sandbox_id);
  }
  options_.events->Add(EventType::kContainerUpdated, record.sandbox_id, record.id,
                       record.spec.name);
  pictures_->TellContradiction(container.Snapshot(), &before.spec);
  for (const std::string& warning : lost) {
    options_.events->Add(EventType::kWarning, record.sandbox_id, record.id, warning);
  }
}

absl::Status ContainerUpdates::Update(const std::shared_ptr<Container>& container,
                                      const ResourceUpdate& update,
                                      const linux::CgroupSettings& by_client) {
  HandlerUpdates::SizeReport report;
  const absl::Status done = UpdateAlone(*container, update, by_client, &report);
  if (report.is_due) handler_updates_->ReportCurrent(container->sandbox_id, container->id);
  if (!done.ok()) pictures_->TellUnfollowed(container->Snapshot());
  return done;
}

absl::Status ContainerUpdates::UpdateAlone(Container& container, const ResourceUpdate& asked_for,
                                           linux::CgroupSettings by_client,
                                           HandlerUpdates::SizeReport* report) {
  absl::MutexLock operation(&container.operation);
  const ContainerRecord record = container.Snapshot();
  PLIMSOLL_RETURN_IF_ERROR(Check(record, asked_for));
  const std::string what = absl::StrCat("update container ", record.id);
  const linux::CgroupLayout layout = options_.cgroups->layout();
  ResourceUpdate update = asked_for;
  LimitSwapByDefault(record.spec.resources, layout, &update.cgroup);
  LimitSwapByDefault(AsAsked(record.spec).resources, layout, &by_client);
  const absl::StatusOr<ContainerSpec> asked = Merge(record, update, by_client);
  if (!asked.ok()) return Annotate(asked.status(), what);
  std::optional<HandlerTurn> turn;
  absl::Status done = ReportToHandler(record, update, *asked, &turn, report);
  if (done.ok()) done = Make(container, record, update, *asked, turn.has_value());
  handler_updates_->Close(record.sandbox_id, done.ok(), report);
  return Annotate(done, what);
}

absl::Status ContainerUpdates::Make(Container& container, const ContainerRecord& record,
                                    const ResourceUpdate& update, const ContainerSpec& asked,
                                    bool takes_turns) {
  // A thread that follows the node's share waits for this lock.
  absl::MutexLock cpuset(&container.cpuset);
  const NodeConfinement::ShareNow share = confinement_->Current();
  auto confined = confinement_->ConfineAsked(update.cgroup, share, /*is_new=*/false);
  PLIMSOLL_RETURN_IF_ERROR(confined.status());
  confinement_->PutIntoPod(record.sandbox_id, update.cgroup, share.share, &confined->settings);
  std::vector<std::string> lost;
  const HostFeatures* const machine = options_.runtime->machine();
  ResourceUpdate given = update;
  given.cgroup = FitSettings(confined->settings, machine, &lost);
  if (given.oom_score_adj)
    given.oom_score_adj = FitOomScoreAdj(*given.oom_score_adj, machine, &lost);
  PLIMSOLL_RETURN_IF_ERROR(
      PutLimitBack(*options_.cgroups, options_.run, record.id, record.cgroup_path));
  // Writes the row first: a crash can't undo an update that was reported, and a full disk changes
  // nothing. A start after a kill in between finishes the update from the row.
  UpdateMark mark(options_.run, record.id);  // its end removes the earlier mark
  const UpdateMark classes_mark(options_.run, ClassesMarkIdOf(record.id));
  std::optional<UpdateMark> before_mark;
  if (takes_turns) {
    before_mark.emplace(options_.run, BeforeMarkIdOf(record.id));
    PLIMSOLL_RETURN_IF_ERROR(before_mark->Set(ToJson(UpdatedPartOf(record.spec))));
  }
  const qos::HeldClasses changing = classes_->ChangingTo(record.classes, update.classes);
  PLIMSOLL_RETURN_IF_ERROR(MarkAndSave(container, asked, changing, mark, classes_mark));
  // A container without a process has nothing but its row.
  const absl::Status done =
      IsRefused(record) ? absl::OkStatus() : Apply(container, record, given, &mark);
  if (!done.ok()) {
    return AlsoNotSetBack(done, SaveAsked(container, record.spec, HeldBefore(record, changing)));
  }
  const bool other_group = SeeGroup(*options_.cgroups, container);
  if (SeeOomScore(options_.host, container) || other_group) {
    options_.events->Warn(record.sandbox_id, record.id, SaveRow(*options_.store, container));
  }
  TellUpdated(container, record, update, share.share, lost);
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
