#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/random_id.h"
#include "base/status.h"
#include "linux/cgroup_merge.h"
#include "linux/process.h"
#include "runtime/engine_impl.h"
#include "runtime/group_settings.h"
#include "runtime/oci/fit.h"
#include "runtime/sandbox_place.h"
#include "runtime/state_machine.h"
#include "runtime/update_mark.h"

namespace plimsoll::runtime {
namespace {

// A systemd slice holds scopes, a cgroupfs pod group plain directories.
std::string CgroupPathOf(const SandboxRecord& sandbox, const std::string& id) {
  if (absl::EndsWith(sandbox.cgroup_path, ".slice")) {
    return absl::StrCat(sandbox.cgroup_path, "/plimsoll-", id, ".scope");
  }
  return absl::StrCat(sandbox.cgroup_path, "/", id);
}

std::string LogPathOf(const SandboxSpec& sandbox, const ContainerSpec& spec) {
  if (spec.log_path.empty() || sandbox.log_directory.empty()) return spec.log_path;
  return absl::StrCat(sandbox.log_directory, "/", spec.log_path);
}

bool MountsOver(const ContainerSpec& spec, absl::string_view path) {
  return std::any_of(spec.mounts.begin(), spec.mounts.end(),
                     [&](const Mount& mount) { return mount.container_path == path; });
}

// Files that the client mounts itself (kubelet brings its own /etc/hosts) are not ours to give.
SandboxPlace WithoutClientsMounts(SandboxPlace place, const ContainerSpec& spec) {
  if (MountsOver(spec, "/etc/hosts")) place.etc_hosts.clear();
  if (MountsOver(spec, "/etc/hostname")) place.etc_hostname.clear();
  if (MountsOver(spec, "/etc/resolv.conf")) place.etc_resolv_conf.clear();
  if (MountsOver(spec, "/dev/shm")) place.shm_directory.clear();
  return place;
}

}  // namespace

absl::StatusOr<CreateRequest> EngineImpl::PrepareCreate(const SandboxRecord& sandbox,
                                                        const ContainerRecord& record,
                                                        const image::Image& image,
                                                        const image::LayerLease& layers) {
  if (record.spec.security.privileged && !sandbox.spec.privileged) {
    return absl::InvalidArgumentError(
        absl::StrCat("container ", record.spec.name,
                     ": privileged, but its sandbox is not; ask for a privileged sandbox"));
  }
  CreateRequest request;
  request.id = record.id;
  request.spec = &record.spec;
  request.image = &image.config;
  if (!record.spec.cdi_devices.empty() && options_.devices == nullptr) {
    return absl::UnimplementedError(absl::StrCat("container ", record.spec.name,
                                                 ": CDI devices are not supported by this engine"));
  }
  if (!record.spec.cdi_devices.empty()) {
    absl::StatusOr<cdi::ContainerEdits> edits = options_.devices->Resolve(record.spec.cdi_devices);
    if (!edits.ok()) return Annotate(edits.status(), absl::StrCat("container ", record.spec.name));
    request.edits = *std::move(edits);
  }
  request.lower_directories = layers.lower_directories();
  request.sandbox =
      WithoutClientsMounts(PlaceOf(options_.run, sandbox.id, sandbox.spec), record.spec);
  request.cgroup_path = record.cgroup_path;
  request.log_path = record.log_path;
  // In a sandbox with the host's PID namespace, the pod's is the host's.
  if (record.spec.security.namespaces.pid == NamespaceMode::kPod &&
      sandbox.spec.namespaces.pid != NamespaceMode::kPod &&
      sandbox.spec.namespaces.pid != NamespaceMode::kNode) {
    return absl::FailedPreconditionError(
        absl::StrCat("container ", record.spec.name,
                     ": namespaces.pid is POD, but its sandbox was made without a PID namespace to "
                     "share; make the sandbox with pid POD, or the container with CONTAINER"));
  }
  if (record.spec.security.namespaces.pid == NamespaceMode::kTarget) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto target,
                              FindContainer(record.spec.security.namespaces.target_container_id));
    const ContainerRecord target_record = target->Snapshot();
    if (target->sandbox_id != sandbox.id || target_record.state != ContainerState::kRunning) {
      return absl::FailedPreconditionError(
          absl::StrCat("container ", record.spec.name, ": target ", target->id,
                       " for its PID namespace must be a running container of the same sandbox"));
    }
    request.target_pid = target_record.init.pid;
  }
  if (!record.log_path.empty()) {
    const size_t slash = record.log_path.rfind('/');
    PLIMSOLL_RETURN_IF_ERROR(options_.host.MakeDirs(record.log_path.substr(0, slash), 0755));
  }
  return request;
}

absl::Status EngineImpl::AddImageMounts(ContainerRecord* record, CreateRequest* request,
                                        std::shared_ptr<image::LayerLease>* layers) {
  const ContainerSpec& spec = record->spec;
  std::vector<std::shared_ptr<image::LayerLease>> leases;
  for (size_t i = 0; i < spec.mounts.size(); ++i) {
    const std::string& reference = spec.mounts[i].image;
    if (reference.empty()) continue;
    const std::string what = absl::StrCat("container ", spec.name, ": the image \"", reference,
                                          "\" of the mount at ", spec.mounts[i].container_path);
    const absl::StatusOr<image::Image> image = options_.images->Find(reference);
    if (!image.ok()) return Annotate(image.status(), what);
    auto lease = options_.images->Lease(image->record.id);
    if (!lease.ok()) return Annotate(lease.status(), what);
    request->image_layers[i] = (*lease)->lower_directories();
    record->spec.mounts[i].image_id = image->record.id;
    const std::vector<std::string>& chain = image->record.chain_ids;
    record->chain_ids.insert(record->chain_ids.end(), chain.begin(), chain.end());
    leases.push_back(*std::move(lease));
  }
  if (leases.empty()) return absl::OkStatus();
  // One lease for all, as it is taken again after a restart.
  PLIMSOLL_ASSIGN_OR_RETURN(*layers, options_.images->LeaseChain(record->chain_ids));
  return absl::OkStatus();
}

absl::Status EngineImpl::SettleProcess(const Created& created, const CreateRequest& request,
                                       ContainerRecord* record) {
  record->monitor = created.monitor;
  record->init = created.init;
  // What another program has made of its resources is that program's affair.
  std::vector<std::string> told;  // by Create
  linux::CgroupSettings given;
  if (request.program.empty()) {
    given = FitSettings(request.spec->resources, *options_.runtime, &told);
    linux::Settle(options_.cgroups->layout(), &given);
  }
  const absl::Status registered =
      options_.cgroups->Register(record->cgroup_path, record->init.pid, given);
  if (!registered.ok()) {
    return Annotate(registered, absl::StrCat("container ", record->spec.name));
  }
  // Its init is one thread, asleep until it is started: whatever it runs will be in its classes.
  PLIMSOLL_RETURN_IF_ERROR(EnforceClasses(TargetOf(*record)));
  // Asked while there is an init: it may end before anybody else looks.
  const absl::StatusOr<int> adj = linux::ReadOomScoreAdj(options_.host, record->init);
  if (adj.ok()) record->last_resources.oom_score_adj = *adj;
  if (options_.cgroups->EndsWithProcesses()) {
    const auto group = ReadGroup(*options_.cgroups, record->cgroup_path, record->spec.resources);
    if (group.ok()) record->last_resources.cgroup = *group;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> EngineImpl::CreateContainer(absl::string_view sandbox_id,
                                                        const ContainerSpec& spec,
                                                        std::string client_config) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto sandbox, FindSandbox(sandbox_id));
  absl::ReaderMutexLock sandbox_operation(&sandbox->operation);
  const SandboxRecord sandbox_record = sandbox->Snapshot();
  if (sandbox_record.state != SandboxState::kReady) {
    return absl::FailedPreconditionError(
        absl::StrCat("container ", spec.name, ": its sandbox ", sandbox->id, " is ",
                     StateName(sandbox_record.state), "; it must be Ready"));
  }
  readier_.Expect();
  const ShareNow share = CurrentShare();
  const absl::StatusOr<Confined> confined = ConfineAsked(spec.resources, share, /*is_new=*/true);
  if (!confined.ok()) return Annotate(confined.status(), absl::StrCat("container ", spec.name));
  StartPhase phase(options_.observe_phase);
  absl::StatusOr<image::Image> image = options_.images->Find(spec.image);
  if (!image.ok()) return Annotate(image.status(), absl::StrCat("container ", spec.name));
  PLIMSOLL_ASSIGN_OR_RETURN(auto layers, options_.images->Lease(image->record.id));
  phase.Done("container_image");

  ContainerRecord record;
  record.id = RandomId();
  record.sandbox_id = sandbox->id;
  record.created_unix_nanos = options_.clock->NowUnixNanos();
  record.boot_id = boot_id_;
  record.spec = spec;
  record.client_config = std::move(client_config);
  record.image_id = image->record.id;
  record.image_ref = image::RepoDigestFor(image->record, spec.image);
  record.chain_ids = image->record.chain_ids;
  record.log_path = LogPathOf(sandbox_record.spec, spec);
  record.cgroup_path = CgroupPathOf(sandbox_record, record.id);

  const std::string key = NameKey(sandbox->id, spec);
  PLIMSOLL_RETURN_IF_ERROR(ReserveName(
      key, record.id, absl::StrCat("container ", spec.name, " (attempt ", spec.attempt, ")")));
  absl::Cleanup release_name = [&] { ReleaseName(record.id); };
  PLIMSOLL_ASSIGN_OR_RETURN(CreateRequest request,
                            PrepareCreate(sandbox_record, record, *image, *layers));
  PLIMSOLL_RETURN_IF_ERROR(AddImageMounts(&record, &request, &layers));
  const std::string difference = CompareWithAnnounced(sandbox_record, &record.spec);
  ContainerSpec given = record.spec;
  given.resources = confined->settings;
  PLIMSOLL_RETURN_IF_ERROR(CheckAnnounced(sandbox_record, difference));
  PLIMSOLL_RETURN_IF_ERROR(AddPicture(sandbox_record, &given));
  PLIMSOLL_RETURN_IF_ERROR(ApplyHandler(sandbox_record, &given, &request));
  request.spec = &given;
  PLIMSOLL_RETURN_IF_ERROR(ReserveClasses(spec, &record));
  absl::Cleanup cancel_classes = [&] { CancelClasses(record.id); };
  PLIMSOLL_RETURN_IF_ERROR(options_.store->PutContainer(record));
  std::move(release_name).Cancel();
  std::move(cancel_classes).Cancel();
  absl::Cleanup undo = [&] { UndoContainer(std::move(record), std::move(layers)); };
  phase.Skip();
  PLIMSOLL_ASSIGN_OR_RETURN(const Created created, options_.runtime->Create(request));
  phase.Done("container_create");
  record.stop_signal = created.stop_signal;
  record.user = created.user;
  record.state = ContainerState::kCreated;
  if (created.refusal.has_value()) {
    // In the row before anybody is told that it is created; whatever comes, its start fails so.
    record.reason = kStartError;
    record.message = *created.refusal;
    CancelClasses(record.id);  // nothing of it will ever run in them
  } else {
    PLIMSOLL_RETURN_IF_ERROR(SettleProcess(created, request, &record));
    phase.Done("container_classes");
  }

  std::string id = record.id;
  const auto container = std::make_shared<Container>(record);
  {
    // Watched before it is anybody's: one whose end nobody sees would be Running for ever. That
    // end, however soon it comes, is recorded after this lock.
    absl::MutexLock lock(&container->mutex);
    absl::Status made;
    if (!created.refusal.has_value()) made = WatchMonitor(container, record.monitor);
    if (made.ok()) made = options_.store->PutContainer(record);
    if (!made.ok()) {
      container->record.state = ContainerState::kRemoving;  // no exit is recorded any more
      return Annotate(made, absl::StrCat("container ", spec.name));
    }
    container->layers = std::move(layers);
    {
      absl::MutexLock maps(&mutex_);
      containers_.Insert(id, container);
    }
    options_.events->Add(EventType::kContainerCreated, record, spec.name);
  }
  std::move(undo).Cancel();
  ShowPicture(sandbox->id);
  if (created.refusal.has_value()) {
    options_.events->Add(EventType::kWarning, sandbox->id, id,
                         absl::StrCat(*created.refusal, "; its start will fail"));
  }
  for (const std::string& warning : created.warnings) {
    options_.events->Add(EventType::kWarning, sandbox->id, id, warning);
  }
  if (!difference.empty()) {
    options_.events->Add(EventType::kWarning, sandbox->id, id, difference);
  }
  TellContradiction(container->Snapshot(), nullptr);
  if (!confined->lost.empty()) TellLost(*container, *confined);
  // Another share, set while this one was being made, has not reached it.
  if (CurrentShare().epoch != share.epoch) FollowShare(*container);
  return id;
}

void EngineImpl::UndoContainer(ContainerRecord record, std::shared_ptr<image::LayerLease> layers) {
  absl::Status unmade = options_.runtime->Delete(record.id, record.cgroup_path);
  ReleaseClasses(record.sandbox_id, record.id, TargetOf(record));
  if (unmade.ok()) unmade = options_.store->RemoveContainer(record.id);
  if (unmade.ok()) return ReleaseName(record.id);
  Warn(record.sandbox_id, record.id,
       Annotate(unmade,
                "what a creation that failed has left can't be removed now (remove the "
                "container, or restart the daemon, to try again)"));
  record.state = ContainerState::kRemoving;
  const auto container = std::make_shared<Container>(std::move(record));
  {
    absl::MutexLock lock(&container->mutex);
    container->layers = std::move(layers);
  }
  absl::MutexLock lock(&mutex_);
  containers_.Insert(container->id, container);
}

absl::Status EngineImpl::RemoveContainer(absl::string_view id) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto container, FindContainer(id));
  const CallOff call_off(TurnsOf(*container), container->id);
  PLIMSOLL_RETURN_IF_ERROR(StopContainer(container->id, absl::ZeroDuration()));
  absl::MutexLock operation(&container->operation);
  if (!FindContainer(container->id).ok()) return absl::OkStatus();  // another call was quicker
  ContainerRecord record;
  {
    absl::MutexLock lock(&container->mutex);
    PLIMSOLL_RETURN_IF_ERROR(
        CheckTransition(container->id, container->record.state, ContainerState::kRemoving));
    container->record.state = ContainerState::kRemoving;
    record = container->record;
  }
  // On a full disk its files go unmarked: they are what makes room for forgetting it. A daemon that
  // starts in between finds it ended, and removing that works as well.
  const absl::Status marked = options_.store->PutContainer(record);
  if (!absl::IsResourceExhausted(marked)) PLIMSOLL_RETURN_IF_ERROR(marked);
  const absl::Status unmarked = options_.run.RemoveFile(UpdateMarkOf(record.id));
  if (!absl::IsNotFound(unmarked)) PLIMSOLL_RETURN_IF_ERROR(unmarked);
  PLIMSOLL_RETURN_IF_ERROR(options_.runtime->Delete(record.id, record.cgroup_path));
  {
    // What its exit lets go of in its own time, or not at all when it finds a removal under way:
    // who is told of the removal may want the places.
    absl::MutexLock lock(&container->classes);
    // The registry knows it also where it holds none.
    ReleaseClasses(record.sandbox_id, record.id, TargetOf(record));
  }
  PLIMSOLL_RETURN_IF_ERROR(options_.store->RemoveContainer(record.id));
  ReleaseName(record.id);
  {
    absl::MutexLock lock(&container->mutex);
    container->layers.reset();
  }
  {
    // In one: whoever follows the events knows it at every moment by the one or the other.
    absl::MutexLock lock(&mutex_);
    containers_.Erase(record.id);
    options_.events->Add(EventType::kContainerRemoved, record, record.spec.name);
  }
  CollectLayersAfter(record.id);
  ShowPicture(record.sandbox_id);
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
