#include "runtime/container_creation.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/random_id.h"
#include "base/status.h"
#include "base/text/normal_path.h"
#include "linux/cgroup/merge.h"
#include "linux/process.h"
#include "qos/class_devices.h"
#include "runtime/cgroups/group_paths.h"
#include "runtime/cgroups/group_settings.h"
#include "runtime/cgroups/plugin_limits.h"
#include "runtime/cgroups/swap_default.h"
#include "runtime/log_place.h"
#include "runtime/objects/sandbox_place.h"
#include "runtime/objects/state_machine.h"
#include "runtime/oci/fit.h"
#include "runtime/requests/asked_spec.h"

namespace plimsoll::runtime {
namespace {

std::string LogPathOf(const SandboxSpec& sandbox, const ContainerSpec& spec) {
  if (spec.log_path.empty() || sandbox.log_directory.empty()) return spec.log_path;
  return absl::StrCat(sandbox.log_directory, "/", spec.log_path);
}

bool MountsOver(const ContainerSpec& spec, absl::string_view path) {
  return std::any_of(spec.mounts.begin(), spec.mounts.end(),
                     [&](const Mount& mount) { return NormalPath(mount.container_path) == path; });
}

// The kernel makes no process in a PID namespace whose init has ended (ENOMEM), and ends each one
// in it. That end may not have been noticed yet, or may just begin.
absl::Status CheckNamespaceLasts(const FsRoot& host, const ContainerRecord& record,
                                 const SandboxRecord& pod) {
  if (pod.pause.pid == 0 || record.spec.security.namespaces.pid != NamespaceMode::kPod ||
      !linux::HasEndedOrIsEnding(host, pod.pause)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "container ", record.spec.name, ": the init of the pod's PID namespace has ended, so that ",
      "nothing can be made in it; the pod can only be removed"));
}

// FAILED_PRECONDITION unless the sandbox takes new containers.
absl::Status CheckTakesContainers(const Sandbox& sandbox) {
  absl::MutexLock lock(&sandbox.mutex);
  if (sandbox.record.state != SandboxState::kReady) {
    return absl::FailedPreconditionError(absl::StrCat(
        "its sandbox ", sandbox.id, " is ", StateName(sandbox.record.state), "; it must be Ready"));
  }
  // A failed stop has given back some of the pod already.
  if (sandbox.stopping) {
    return absl::FailedPreconditionError(
        absl::StrCat("a stop of its sandbox ", sandbox.id,
                     " has failed; that sandbox can only be stopped and removed now"));
  }
  return absl::OkStatus();
}

// A client's class devices have become classes before the spec comes here; a plugin's would do
// nothing.
absl::Status CheckClassDevices(const ContainerSpec& spec) {
  if (!spec.asked.has_value()) return absl::OkStatus();
  for (const std::string& device : spec.cdi_devices) {
    if (!qos::IsClassDevice(device) || absl::c_linear_search(spec.asked->cdi_devices, device)) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "CDI device ", device, " stands for a QoS class, which plugins can't give so; ",
        "they set linux.resources.rdt_class and blockio_class"));
  }
  return absl::OkStatus();
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

absl::StatusOr<CreateRequest> ContainerCreation::PrepareCreate(
    const SandboxRecord& sandbox, const ContainerRecord& record, const image::Image& image,
    const image::LayerLease& layers) const {
  if (record.spec.security.privileged && !sandbox.spec.privileged) {
    return absl::InvalidArgumentError(
        absl::StrCat("container ", record.spec.name,
                     ": privileged, but its sandbox is not; ask for a privileged sandbox"));
  }
  CreateRequest request;
  request.id = record.id;
  request.spec = &record.spec;
  request.image = &image.config;
  const std::vector<std::string> devices = qos::WithoutClassDevices(record.spec.cdi_devices);
  if (!devices.empty() && parts_.options.devices == nullptr) {
    return absl::UnimplementedError(absl::StrCat("container ", record.spec.name,
                                                 ": CDI devices are not supported by this engine"));
  }
  if (!devices.empty()) {
    absl::StatusOr<cdi::ContainerEdits> edits = parts_.options.devices->Resolve(devices);
    if (!edits.ok()) return Annotate(edits.status(), absl::StrCat("container ", record.spec.name));
    request.edits = *std::move(edits);
  }
  request.lower_directories = layers.lower_directories();
  request.sandbox =
      WithoutClientsMounts(PlaceOf(parts_.options.run, sandbox.id, sandbox.spec), record.spec);
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
    PLIMSOLL_ASSIGN_OR_RETURN(
        const auto target,
        parts_.objects.FindContainer(record.spec.security.namespaces.target_container_id));
    const ContainerRecord target_record = target->Snapshot();
    if (target->sandbox_id != sandbox.id || target_record.state != ContainerState::kRunning) {
      return absl::FailedPreconditionError(
          absl::StrCat("container ", record.spec.name, ": target ", target->id,
                       " for its PID namespace must be a running container of the same sandbox"));
    }
    request.target_pid = target_record.init.pid;
  }
  absl::StatusOr<LogPlace> log =
      PrepareLog(parts_.options.host, sandbox.spec.log_directory, record.log_path);
  if (!log.ok()) return Annotate(log.status(), absl::StrCat("container ", record.spec.name));
  request.log_directory = std::move(log->directory);
  request.log_path = std::move(log->path);
  return request;
}

absl::Status ContainerCreation::AddImageMounts(ContainerRecord* record, CreateRequest* request,
                                               std::shared_ptr<image::LayerLease>* layers) const {
  const ContainerSpec& spec = record->spec;
  std::vector<std::shared_ptr<image::LayerLease>> leases;
  for (size_t i = 0; i < spec.mounts.size(); ++i) {
    const std::string& reference = spec.mounts[i].image;
    if (reference.empty()) continue;
    const std::string what = absl::StrCat("container ", spec.name, ": the image \"", reference,
                                          "\" of the mount at ", spec.mounts[i].container_path);
    const absl::StatusOr<image::Image> image = parts_.options.images->Find(reference);
    if (!image.ok()) return Annotate(image.status(), what);
    auto lease = parts_.options.images->Lease(image->record.id);
    if (!lease.ok()) return Annotate(lease.status(), what);
    request->image_layers[i] = (*lease)->lower_directories();
    record->spec.mounts[i].image_id = image->record.id;
    const std::vector<std::string>& chain = image->record.chain_ids;
    record->chain_ids.insert(record->chain_ids.end(), chain.begin(), chain.end());
    leases.push_back(*std::move(lease));
  }
  if (leases.empty()) return absl::OkStatus();
  // One lease for all, as recovery takes it after a restart.
  PLIMSOLL_ASSIGN_OR_RETURN(*layers, parts_.options.images->LeaseChain(record->chain_ids));
  return absl::OkStatus();
}

void ContainerCreation::NoteFirstValues(ContainerRecord* record) const {
  const absl::StatusOr<int> adj = linux::ReadOomScoreAdj(parts_.options.host, record->init);
  if (adj.ok()) record->last_resources.oom_score_adj = *adj;
  if (!parts_.options.cgroups->EndsWithProcesses()) return;
  const auto group =
      ReadGroup(*parts_.options.cgroups, record->cgroup_path, record->spec.resources);
  if (group.ok()) record->last_resources.cgroup = *group;
}

absl::Status ContainerCreation::Confine(const std::string& sandbox_id, const ContainerSpec& spec,
                                        Creation* creation) const {
  PLIMSOLL_RETURN_IF_ERROR(CheckSettings(spec.resources, parts_.options.runtime->machine()));
  creation->share = parts_.confinement.Current();
  PLIMSOLL_ASSIGN_OR_RETURN(
      creation->confined,
      parts_.confinement.ConfineAsked(spec.resources, creation->share, /*is_new=*/true));
  parts_.confinement.PutIntoPod(sandbox_id, spec.resources, creation->share.share,
                                &creation->confined.settings);
  return absl::OkStatus();
}

absl::Status ContainerCreation::CheckAsked(const image::Image& image, Creation* creation) const {
  ContainerRecord record = creation->record;
  std::shared_ptr<image::LayerLease> layers = creation->layers;
  PLIMSOLL_ASSIGN_OR_RETURN(CreateRequest request,
                            PrepareCreate(creation->pod, record, image, *layers));
  PLIMSOLL_RETURN_IF_ERROR(AddImageMounts(&record, &request, &layers));
  PLIMSOLL_RETURN_IF_ERROR(parts_.classes.Reserve(&record));
  parts_.classes.Cancel(record.id);  // plugins may want others
  creation->record.spec.mounts = std::move(record.spec.mounts);
  return absl::OkStatus();
}

absl::Status ContainerCreation::TakeGroup(const SandboxRecord& sandbox,
                                          ContainerRecord* record) const {
  const std::string& wanted = record->spec.extras.cgroups_path;
  if (wanted.empty()) return absl::OkStatus();
  const std::string what = absl::StrCat("linux.cgroups_path of container ", record->spec.name);
  absl::StatusOr<std::string> group = GroupByPlugin(sandbox, wanted);
  if (!group.ok()) return Annotate(group.status(), what);
  const auto taken = [&](absl::string_view why) {
    return absl::AlreadyExistsError(absl::StrCat(what, ": \"", *group, "\" ", why));
  };
  // A container of any pod: several may have one cgroup parent, and an ended container's removal
  // sweeps its group, which may not exist at this moment.
  std::string holder;
  parts_.objects.VisitContainers([&](const ContainerRecord& other) {
    if (other.cgroup_path == *group) holder = other.id;
  });
  if (!holder.empty()) return taken(absl::StrCat("is the group of container ", holder));
  if (!parts_.objects.ReserveName(absl::StrCat("group/", *group), record->id, what).ok()) {
    return taken("is the group of a container that is being made");
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const bool exists, parts_.options.cgroups->Exists(*group));
  if (exists) return taken("exists already");
  record->cgroup_path = *std::move(group);
  return absl::OkStatus();
}

absl::Status ContainerCreation::AskPlugins(const Sandbox& sandbox, const image::Image& image,
                                           PluginMaking* making, Creation* creation) const {
  if (parts_.options.hooks == nullptr) return absl::OkStatus();
  ContainerRecord& record = creation->record;
  const bool is_asked = parts_.plugin_hooks.IsActive();
  if (is_asked) PLIMSOLL_RETURN_IF_ERROR(CheckAsked(image, creation));
  StartPhase phase(parts_.options.observe_phase);
  PLIMSOLL_ASSIGN_OR_RETURN(ContainerSpec wanted,
                            making->CreateContainer(creation->pod, record, image.config));
  if (is_asked) phase.Done("container_plugins");
  const std::string what = absl::StrCat("container ", record.spec.name);
  // The pod's init may have ended while the plugins were asked.
  PLIMSOLL_RETURN_IF_ERROR(Annotate(CheckTakesContainers(sandbox), what));
  if (wanted == record.spec) return absl::OkStatus();
  LimitSwapByDefault({}, parts_.options.cgroups->layout(), &wanted.resources);
  const ResourceUpdate limits = {.cgroup = wanted.resources,
                                 .oom_score_adj = wanted.oom_score_adj,
                                 .changed_by = wanted.changed_by};
  PLIMSOLL_RETURN_IF_ERROR(
      Annotate(CheckPluginLimits(record.spec, limits, *parts_.options.runtime), what));
  record.spec = std::move(wanted);
  creation->changed_by = record.spec.changed_by;
  PLIMSOLL_RETURN_IF_ERROR(Annotate(CheckClassDevices(record.spec), what));
  PLIMSOLL_RETURN_IF_ERROR(Annotate(Confine(sandbox.id, record.spec, creation), what));
  return TakeGroup(creation->pod, &record);
}

absl::Status ContainerCreation::Make(Creation* creation) const {
  StartPhase phase(parts_.options.observe_phase);
  const auto lasts = [&]() -> absl::Status {
    const auto pod = parts_.objects.FindSandbox(creation->record.sandbox_id);
    if (!pod.ok()) return absl::OkStatus();
    return CheckNamespaceLasts(parts_.options.host, creation->record, (*pod)->Snapshot());
  };
  PLIMSOLL_RETURN_IF_ERROR(lasts());
  absl::StatusOr<Created> made = parts_.options.runtime->Create(creation->request);
  if (absl::IsInternal(made.status())) {
    PLIMSOLL_RETURN_IF_ERROR(AlsoSay(lasts(), made.status().message()));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(creation->created, std::move(made));
  phase.Done("container_create");
  const Created& created = creation->created;
  ContainerRecord& record = creation->record;
  record.stop_signal = created.stop_signal;
  record.user = created.user;
  record.state = ContainerState::kCreated;
  if (created.refusal.has_value()) {
    // In the row before the creation is reported, so that the start fails with it in any case.
    record.reason = kStartError;
    record.message = *created.refusal;
    parts_.classes.Cancel(record.id);  // nothing of it will ever run in them
    return absl::OkStatus();
  }
  record.monitor = created.monitor;
  record.init = created.init;
  // A handler's own program decides itself which settings its containers' groups get.
  std::vector<std::string> told;  // unused: the runtime reports them
  linux::CgroupSettings given;
  if (creation->request.program.empty()) {
    given = FitSettings(creation->given.resources, parts_.options.runtime->machine(), &told);
    linux::Settle(parts_.options.cgroups->layout(), &given);
    given = WithWeight(*parts_.options.cgroups, *parts_.options.runtime, "", std::move(given));
  }
  PLIMSOLL_RETURN_IF_ERROR(
      Annotate(parts_.options.cgroups->Register(record.cgroup_path, record.init.pid, given),
               absl::StrCat("container ", record.spec.name)));
  // The init is one thread, asleep until the start: all that it runs will be in the classes.
  PLIMSOLL_RETURN_IF_ERROR(parts_.classes.Enforce(record));
  NoteFirstValues(&record);  // while there is an init: it may end before the next look
  phase.Done("container_classes");
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<Container>> ContainerCreation::Add(Creation* creation) const {
  const ContainerRecord& record = creation->record;
  const auto container = std::make_shared<Container>(record);
  // Watched before it is added: a container whose end nobody sees would be Running for ever. Even
  // an immediate end is recorded only after this lock is released.
  absl::MutexLock lock(&container->mutex);
  absl::Status made;
  if (HasProcess(record)) made = parts_.ends.exits.Watch(container, record.monitor);
  if (made.ok()) made = parts_.options.store->PutContainer(record);
  if (!made.ok()) {
    container->record.state = ContainerState::kRemoving;  // no exit is recorded any more
    return Annotate(made, absl::StrCat("container ", record.spec.name));
  }
  container->layers = std::move(creation->layers);
  parts_.objects.AddContainer(container);
  parts_.options.events->Add(EventType::kContainerCreated, record, record.spec.name);
  return container;
}

void ContainerCreation::TellCreated(const Creation& creation, Container& container) const {
  parts_.pictures.Show(container.sandbox_id);
  const auto warn = [&](const std::string& warning) {
    parts_.options.events->Add(EventType::kWarning, container.sandbox_id, container.id, warning);
  };
  const Created& created = creation.created;
  if (created.refusal.has_value()) warn(absl::StrCat(*created.refusal, "; its start will fail"));
  for (const std::string& warning : created.warnings) warn(warning);
  if (!creation.difference.empty()) warn(creation.difference);
  parts_.pictures.TellContradiction(container.Snapshot(), nullptr);
  if (!creation.confined.lost.empty()) parts_.confinement.TellLost(container, creation.confined);
}

absl::StatusOr<std::string> ContainerCreation::Create(const std::shared_ptr<Sandbox>& sandbox,
                                                      const ContainerSpec& spec,
                                                      std::string client_config) const {
  const std::string what = absl::StrCat("container ", spec.name);
  PLIMSOLL_RETURN_IF_ERROR(Annotate(CheckTakesContainers(*sandbox), what));
  parts_.groups.ExpectProcess();
  Creation creation;
  creation.pod = sandbox->Snapshot();
  ContainerRecord& record = creation.record;
  record.spec = spec;
  LimitSwapByDefault({}, parts_.options.cgroups->layout(), &record.spec.resources);
  PLIMSOLL_RETURN_IF_ERROR(Annotate(Confine(sandbox->id, record.spec, &creation), what));
  StartPhase phase(parts_.options.observe_phase);
  const absl::StatusOr<image::Image> image = parts_.options.images->Find(spec.image);
  if (!image.ok()) return Annotate(image.status(), what);
  PLIMSOLL_ASSIGN_OR_RETURN(creation.layers, parts_.options.images->Lease(image->record.id));
  phase.Done("container_image");

  const std::string id = RandomId();
  record.id = id;
  record.sandbox_id = sandbox->id;
  record.created_unix_nanos = parts_.options.clock->NowUnixNanos();
  record.boot_id = boot_id_;
  record.client_config = std::move(client_config);
  record.image_id = image->record.id;
  record.image_ref = image::RepoDigestFor(image->record, spec.image);
  record.chain_ids = image->record.chain_ids;
  record.log_path = LogPathOf(creation.pod.spec, spec);
  record.cgroup_path = ContainerGroupOf(creation.pod, id);
  PLIMSOLL_RETURN_IF_ERROR(parts_.objects.ReserveName(
      NameKey(sandbox->id, spec), id, absl::StrCat(what, " (attempt ", spec.attempt, ")")));
  absl::Cleanup release_name = [&] {
    if (!creation.has_row) parts_.objects.ReleaseName(id);
  };
  PluginMaking making(parts_.plugin_hooks);
  const auto container = CreateNamed(*sandbox, *image, &making, &creation);
  if (!container.ok()) return NamePlugins(container.status(), creation.changed_by);
  TellCreated(creation, **container);
  // A share that was set during the creation has not reached this container.
  if (parts_.confinement.Current().epoch != creation.share.epoch) {
    parts_.confinement.FollowShare(**container);
  }
  return id;
}

absl::StatusOr<std::shared_ptr<Container>> ContainerCreation::CreateNamed(
    const Sandbox& sandbox, const image::Image& image, PluginMaking* making,
    Creation* creation) const {
  const SandboxRecord& pod = creation->pod;
  ContainerRecord& record = creation->record;
  creation->difference = parts_.pictures.CompareWithAnnounced(pod, &record.spec);
  PLIMSOLL_RETURN_IF_ERROR(parts_.handlers.CheckAnnounced(pod, creation->difference));
  PLIMSOLL_RETURN_IF_ERROR(AskPlugins(sandbox, image, making, creation));
  CreateRequest& request = creation->request;
  PLIMSOLL_ASSIGN_OR_RETURN(request, PrepareCreate(pod, record, image, *creation->layers));
  PLIMSOLL_RETURN_IF_ERROR(AddImageMounts(&record, &request, &creation->layers));
  creation->given = record.spec;
  creation->given.resources = creation->confined.settings;
  PLIMSOLL_RETURN_IF_ERROR(parts_.pictures.AddTo(pod, &creation->given));
  PLIMSOLL_RETURN_IF_ERROR(parts_.handlers.ApplyTo(pod, &creation->given, &request));
  request.spec = &creation->given;

  PLIMSOLL_RETURN_IF_ERROR(parts_.classes.Reserve(&record));
  absl::Cleanup cancel_classes = [&] { parts_.classes.Cancel(record.id); };
  PLIMSOLL_RETURN_IF_ERROR(parts_.options.store->PutContainer(record));
  std::move(cancel_classes).Cancel();
  creation->has_row = true;  // from here on Undo removes it, and the places with it
  absl::Cleanup undo = [&] { Undo(std::move(record), std::move(creation->layers)); };
  PLIMSOLL_RETURN_IF_ERROR(Make(creation));
  PLIMSOLL_ASSIGN_OR_RETURN(std::shared_ptr<Container> container, Add(creation));
  std::move(undo).Cancel();
  making->Done();
  return container;
}

void ContainerCreation::Undo(ContainerRecord record,
                             std::shared_ptr<image::LayerLease> layers) const {
  absl::Status unmade = parts_.options.runtime->Delete(record.id, record.cgroup_path);
  parts_.classes.Release(record);
  if (unmade.ok()) unmade = parts_.options.store->RemoveContainer(record.id);
  // The name is free in any case: no client knows this container by it.
  const absl::Cleanup release_name = [this, id = record.id] { parts_.objects.ReleaseName(id); };
  if (unmade.ok()) return;
  parts_.options.events->Warn(
      record.sandbox_id, record.id,
      Annotate(unmade,
               "remains of the failed creation can't be removed now (remove the container, or "
               "restart the daemon, to try again)"));
  record.state = ContainerState::kRemoving;
  const auto container = std::make_shared<Container>(std::move(record));
  {
    absl::MutexLock lock(&container->mutex);
    container->layers = std::move(layers);
  }
  parts_.objects.AddContainer(container);
}

}  // namespace plimsoll::runtime
