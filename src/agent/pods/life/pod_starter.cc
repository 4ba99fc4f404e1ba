#include "agent/pods/life/pod_starter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/pods/allocation/device_answers.h"
#include "agent/pods/life/living_context.h"
#include "agent/pods/life/passing.h"
#include "agent/pods/life/pod_counters.h"
#include "agent/pods/status/pod_subject.h"
#include "agent/pods/status/start_events.h"
#include "base/random_id.h"
#include "base/status.h"
#include "pod_runner/cri_requests/env.h"
#include "pod_runner/cri_requests/fields.h"
#include "pod_runner/cri_requests/pod_level.h"
#include "pod_runner/hooks.h"
#include "pod_runner/manifest/classes.h"
#include "pod_runner/manifest/manifest_objects.h"
#include "pod_runner/pod_files/mount_sub_paths.h"
#include "pod_runner/pod_files/termination_message.h"
#include "pod_runner/pulls/images.h"
#include "pod_runner/pulls/logins.h"
#include "pod_runner/pulls/pull_secrets.h"
#include "pod_runner/runtime_client/labels.h"
#include "pod_runner/user_ids.h"
#include "qos/pod_qos.h"

namespace plimsoll::agent {
namespace {

// kubelet sets no limit; here a hanging hook would keep the pod from its end.
constexpr int64_t kPostStartSeconds = 60;

// The length of a sandbox's short id; enough for the command line.
constexpr size_t kShortId = 12;

// A type whose default is asked for is left out.
void PutClasses(const qos::ClassNames& requests,
                google::protobuf::Map<std::string, std::string>& out) {
  out.clear();
  for (const auto& [type, name] : requests) {
    if (!pod::AsksForDefault(name)) out[type] = name;
  }
}

// The reason that kubelet gives for an image that isn't there.
std::string ImageReason(const absl::Status& status, const pod::ContainerManifest& container) {
  if (absl::IsNotFound(status) && container.pull_policy == "Never") return "ErrImageNeverPull";
  if (absl::IsInvalidArgument(status)) return "InvalidImageName";
  return "ErrImagePull";
}

bool RefersToObjects(const pod::ContainerManifest& container) {
  return !container.env_from.empty() ||
         std::any_of(container.env.begin(), container.env.end(),
                     [](const pod::EnvVar& each) { return each.key.has_value(); });
}

bool RefersToObjects(const pod::Volume& volume) {
  if (!volume.files) return false;
  const auto& sources = volume.files->sources;
  return std::any_of(sources.begin(), sources.end(), [](const pod::VolumeProjection& each) {
    return each.kind != pod::VolumeProjection::Kind::kDownwardApi;
  });
}

// The pod uses a ConfigMap or Secret, be it optional.
bool RefersToObjects(const pod::Manifest& pod) {
  const auto refers = [](const auto& each) { return RefersToObjects(each); };
  return !pod.pull_secrets.empty() ||
         std::any_of(pod.containers.begin(), pod.containers.end(), refers) ||
         std::any_of(pod.volumes.begin(), pod.volumes.end(), refers);
}

}  // namespace

// The search begins at a random range, so that two agents of one machine seldom meet.
absl::StatusOr<uint32_t> PodStarter::ChooseIds(const PodRecord& record, KeepIds keep) {
  if (pod_.host_users || record.first_id != 0) return record.first_id;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto taken, pod::TakenIds(host_.client));
  const unsigned long chance = std::stoul(RandomId().substr(0, 8), nullptr, 16);
  PLIMSOLL_ASSIGN_OR_RETURN(const uint32_t first_id,
                            pod::FreeIds(taken, static_cast<uint32_t>(chance % pod::kPodIdRanges)));
  PLIMSOLL_RETURN_IF_ERROR(keep(first_id));
  return first_id;
}

// With the messages of classes, even empty ones, the runtime reads no annotation.
absl::Status PodStarter::Extend(pod::PodConfigs& configs) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const ClassRequests requests, host_.classes(pod_));
  auto& pod_classes = *configs.sandbox.mutable_class_resources()->mutable_class_();
  PutClasses(requests.pod, pod_classes);
  if (context_.pod_class_types.contains(qos::kPodQos)) {
    pod_classes[qos::kPodQos] = resources::QosClassName(pod::QosClassOf(pod_));
  }
  if (!host_.passes_resources_down) configs.sandbox.clear_pod_resources();
  for (size_t i = 0; i < pod_.containers.size(); ++i) {
    auto& config = configs.containers[i];
    PutClasses(requests.containers.at(pod_.containers[i].name),
               *config.mutable_class_resources()->mutable_classes());
    if (!host_.passes_resources_down) config.clear_kubernetes_resources();
    (*config.mutable_labels())[kAgentLabel] = host_.node.name;
  }
  (*configs.sandbox.mutable_labels())[kAgentLabel] = host_.node.name;
  return absl::OkStatus();
}

absl::Status PodStarter::Prepare(const PodRecord& record, KeepIds keep) {
  if (host_.may_start) PLIMSOLL_RETURN_IF_ERROR(host_.may_start());
  if (configs_) return absl::OkStatus();
  context_ = {};
  PLIMSOLL_ASSIGN_OR_RETURN(context_.first_id, ChooseIds(record, keep));
  if (host_.objects != nullptr) {
    // A user may have written an object just now.
    ObjectDirectory::Snapshot read = host_.objects->Read();
    if (RefersToObjects(pod_)) PLIMSOLL_RETURN_IF_ERROR(read.unread);
    objects_ = std::move(read.objects);
    context_.objects = objects_.get();
  }
  context_.uid = record.uid;
  if (host_.pod_class_types) context_.pod_class_types = host_.pod_class_types();
  PLIMSOLL_RETURN_IF_ERROR(pod::DescribeNode(host_.root, context_));
  context_.node_name = host_.node.name;
  context_.sandbox_limits = SandboxLimitsOf(host_);
  PLIMSOLL_RETURN_IF_ERROR(AddLiving(host_, record, pod_, context_));
  if (host_.device_manager != nullptr) {
    const DeviceStock stock = host_.device_manager->Stock();
    PLIMSOLL_RETURN_IF_ERROR(CheckDevices(stock, pod_, record.grant));
    PLIMSOLL_RETURN_IF_ERROR(CheckPresence(stock, record.grant));
  }
  context_.devices = record.grant.device_answers;
  PLIMSOLL_RETURN_IF_ERROR(BringVolumes(SubjectOf(record)));
  PLIMSOLL_ASSIGN_OR_RETURN(pod::PodDir dir, pod::MakePodDir(host_.root, host_.state_directory,
                                                             record.uid, pod_, context_));
  context_.log_directory = dir.log_directory;
  context_.volumes = dir.volumes;
  if (!pod_.host_aliases.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(context_.hosts_file,
                              pod::WriteHostsFile(host_.root, dir, pod_, context_));
  }
  PLIMSOLL_RETURN_IF_ERROR(PrepareLastWords(dir.path));
  PLIMSOLL_ASSIGN_OR_RETURN(pod::PodConfigs configs, pod::ToCri(pod_, context_));
  if (host_.make_group) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string parent, MakeGroup(record));
    configs.sandbox.mutable_linux()->set_cgroup_parent(parent);
  }
  PLIMSOLL_RETURN_IF_ERROR(Extend(configs));
  dir_ = std::move(dir);
  configs_ = std::move(configs);
  for (const pod::ContainerManifest& each : pod_.containers) {
    for (const std::string& told : pod::LeftOutVariables(pod_, each, context_)) {
      host_.events.Add(SubjectOf(record, each.name), "Warning", "InvalidEnvironmentVariables",
                       told);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> PodStarter::MakeGroup(const PodRecord& record) const {
  if (record.actuated.is_null() || !host_.resizes_pods) return host_.make_group(record, pod_);
  // A resize changes the group itself, after the runtime has taken its announcement.
  PLIMSOLL_ASSIGN_OR_RETURN(const pod::Manifest actuated,
                            pod::ManifestOnRecord(record.actuated, PodName(record.key)));
  return host_.make_group(record, actuated);
}

void PodStarter::Renew() {
  configs_.reset();
  completed_.clear();
}

absl::Status PodStarter::PrepareLastWords(const std::string& directory) {
  for (const pod::ContainerManifest& each : pod_.containers) {
    const std::string path = pod::TerminationLogPath(directory, each.name);
    context_.termination_logs[each.name] = path;
    if (host_.root.Exists(path)) continue;
    PLIMSOLL_RETURN_IF_ERROR(
        pod::MakeTerminationLog(host_.root, directory, each.name, std::nullopt));
  }
  return absl::OkStatus();
}

absl::Status PodStarter::CheckNoNamesake() const {
  PLIMSOLL_ASSIGN_OR_RETURN(
      const auto namesakes,
      host_.client.ListPodSandboxesWith({{pod::kPodNamespaceLabel, pod_.pod_namespace},
                                         {pod::kPodNameLabel, pod_.name},
                                         {kAgentLabel, host_.node.name}}));
  for (const auto& each : namesakes) {
    if (each.metadata().uid() == context_.uid) continue;
    PLIMSOLL_ASSIGN_OR_RETURN(const auto containers, host_.client.ListContainers(each.id()));
    const bool lives = each.state() == ::runtime::v1::SANDBOX_READY ||
                       std::any_of(containers.begin(), containers.end(), [](const auto& container) {
                         return container.state() == ::runtime::v1::CONTAINER_RUNNING;
                       });
    if (!lives) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(PodName({pod_.pod_namespace, pod_.name}), " runs already in sandbox ",
                     each.id().substr(0, kShortId),
                     ", which this agent made and has no record of: its database was lost. "
                     "`plimsoll rm --force ",
                     each.id().substr(0, kShortId), "` ends it; then this pod starts"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> PodStarter::MakeSandbox(uint32_t attempt) {
  PLIMSOLL_RETURN_IF_ERROR(CheckNoNamesake());
  configs_->sandbox.mutable_metadata()->set_attempt(attempt);
  host_.counters->Add(kStartedPods);
  auto made = host_.client.RunPodSandbox(configs_->sandbox, configs_->runtime_handler);
  if (!made.ok()) host_.counters->Add(kStartedPodsErrors);
  return made;
}

absl::Status PodStarter::Complete(const std::string& sandbox) {
  if (!pod::NeedsPodIps(pod_) || completed_ == sandbox) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const auto status, host_.client.PodSandboxStatus(sandbox));
  const auto& network = status.status().network();
  context_.pod_ips.clear();
  if (!network.ip().empty()) context_.pod_ips.push_back(network.ip());
  for (const auto& more : network.additional_ips()) context_.pod_ips.push_back(more.ip());
  if (!context_.hosts_file.empty()) {
    PLIMSOLL_RETURN_IF_ERROR(pod::WriteHostsFile(host_.root, *dir_, pod_, context_).status());
  }
  PLIMSOLL_ASSIGN_OR_RETURN(pod::PodConfigs again, pod::ToCri(pod_, context_));
  PLIMSOLL_RETURN_IF_ERROR(Extend(again));
  configs_->containers = std::move(again.containers);
  configs_->sub_paths = std::move(again.sub_paths);
  completed_ = sandbox;
  return absl::OkStatus();
}

absl::Status PodStarter::Adopt(std::shared_ptr<const pod::ConfigObjects> objects) {
  if (!configs_) return absl::OkStatus();
  pod::PodContext context = context_;
  context.objects = objects.get();
  PLIMSOLL_ASSIGN_OR_RETURN(pod::PodConfigs again, pod::ToCri(pod_, context));
  PLIMSOLL_RETURN_IF_ERROR(Extend(again));
  configs_->containers = std::move(again.containers);
  configs_->sub_paths = std::move(again.sub_paths);
  context_ = std::move(context);
  objects_ = std::move(objects);
  return absl::OkStatus();
}

// The Secrets are tried in their order and then the node's own login, as by kubelet; the last
// failure counts.
absl::Status PodStarter::Pull(const InvolvedObject& subject, const std::string& reference) {
  host_.events.Add(subject, "Normal", "Pulling", absl::StrCat("Pulling image \"", reference, "\""));
  ::runtime::v1::PullImageRequest request;
  request.mutable_image()->set_image(reference);
  if (configs_) *request.mutable_sandbox_config() = configs_->sandbox;
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<pod::RegistryLogin> secrets,
                            pod::PullCredentials(pod_, context_.objects, reference));
  const auto pull_with = [&](const pod::RegistryLogin& credentials) {
    request.mutable_auth()->set_username(credentials.user);
    request.mutable_auth()->set_password(credentials.password);
    request.mutable_auth()->set_identity_token(credentials.identity_token);
    return host_.client.PullImage(request);
  };
  absl::Status status;
  for (const pod::RegistryLogin& each : secrets) {
    status = pull_with(each);
    if (status.ok()) return status;
  }
  const pod::LoginSearch search = pod::FindLogin(pod::LoginFiles(), reference);
  if (search.login) {
    status = pull_with(search.login->credentials);
  } else if (secrets.empty()) {
    status = host_.client.PullImage(request);
  }
  return absl::IsPermissionDenied(status) ? AlsoSay(status, search.InWords(reference)) : status;
}

absl::Status PodStarter::BringVolumes(const InvolvedObject& subject) {
  pod::PodImages images(host_.client,
                        [&](const std::string& reference) { return Pull(subject, reference); });
  const std::vector<pod::NeededImage> all = pod::ImagesOf(pod_);
  for (size_t i = pod_.containers.size(); i < all.size(); ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto image, images.Ensure(all[i]));
    context_.image_ids[all[i].reference] = image.id();
  }
  return absl::OkStatus();
}

absl::Status PodStarter::BringImage(const InvolvedObject& subject,
                                    const pod::ContainerManifest& container) {
  pod::PodImages images(host_.client,
                        [&](const std::string& reference) { return Pull(subject, reference); });
  PLIMSOLL_ASSIGN_OR_RETURN(const auto image,
                            images.Ensure({.reference = container.image,
                                           .pull_policy = container.pull_policy,
                                           .where = absl::StrCat("container ", container.name)}));
  host_.events.Add(subject, "Normal", "Pulled",
                   absl::StrCat("Container image \"", container.image, "\" is present on machine"));
  return pod::CheckNonRoot(pod_, container, image);
}

absl::Status PodStarter::RunPostStart(const InvolvedObject& subject,
                                      const pod::ContainerManifest& container,
                                      const std::string& id, const std::string& sandbox) {
  if (!container.lifecycle.post_start) return absl::OkStatus();
  const absl::Status status =
      pod::RunHook(host_.client, {id, sandbox}, *container.lifecycle.post_start, kPostStartSeconds,
                   [this] { return host_.client.abandoned(); });
  if (status.ok() || absl::IsUnavailable(status) || absl::IsCancelled(status)) return status;
  host_.events.Add(subject, "Warning", "FailedPostStartHook",
                   absl::StrCat("PostStartHook failed: ", status.message()));
  host_.client.StopContainer(id, pod_.grace_period_s).IgnoreError();
  return status;
}

absl::StatusOr<std::string> PodStarter::Create(const PodRecord& record, size_t index,
                                               const std::string& sandbox, uint32_t attempt) {
  const pod::ContainerManifest& container = pod_.containers[index];
  auto& config = configs_->containers[index];
  (*config.mutable_annotations())[kGenerationAnnotation] =
      absl::StrCat(record.allocated_generation);
  // The node, the shared CPUs and the pod's own may be others than at Prepare.
  PLIMSOLL_RETURN_IF_ERROR(AddLiving(host_, record, pod_, context_));
  PLIMSOLL_ASSIGN_OR_RETURN(*config.mutable_linux()->mutable_resources(),
                            pod::LimitsToCri(pod_, index, context_));
  config.mutable_metadata()->set_attempt(attempt);
  config.set_log_path(pod::LogPathOf(container.name, attempt));
  const auto last = attempt == 0 ? std::nullopt : std::optional<uint32_t>(attempt - 1);
  PLIMSOLL_RETURN_IF_ERROR(pod::MakeTerminationLog(host_.root, dir_->path, container.name, last));
  PLIMSOLL_RETURN_IF_ERROR(BindSubPaths(index, attempt));
  auto made = host_.client.CreateContainer(sandbox, config, configs_->sandbox);
  if (!made.ok() && !IsPassing(made.status())) {
    pod::UnmountSubPaths(host_.root, dir_->path, container.name).IgnoreError();
  }
  if (!made.ok()) return pod::NamingProfileRoot(made.status(), host_.seccomp);
  // The gate may have gone off since the pod was admitted.
  if (!container.classes.empty() && config.class_resources().classes().empty()) {
    host_.events.Add(SubjectOf(record, container.name), "Warning", "ClassesIgnored",
                     "resources.classes counts for nothing while the feature gate ClassResources "
                     "is off: the container runs in the default classes");
  }
  return made;
}

absl::Status PodStarter::BindSubPaths(size_t index, uint32_t attempt) {
  const pod::ContainerManifest& container = pod_.containers[index];
  if (!pod::HasSubPaths(container)) return absl::OkStatus();
  bound_[container.name] = attempt;
  return pod::MountSubPaths(host_.root, dir_->path, container, configs_->sub_paths[index],
                            dir_->volumes, configs_->containers[index]);
}

void PodStarter::ReleaseSubPaths(const PodRecord& record, const ObservedPod& observed) const {
  for (const pod::ContainerManifest& container : pod_.containers) {
    if (!pod::HasSubPaths(container)) continue;
    const ObservedContainer* const newest = observed.Newest(container.name, "");
    if (newest == nullptr || newest->state != ObservedState::kExited) continue;
    const auto bound = bound_.find(container.name);
    if (bound != bound_.end() && bound->second > newest->attempt) continue;
    pod::UnmountSubPaths(host_.root, pod::PodDirPath(host_.state_directory, record.uid),
                         container.name)
        .IgnoreError();
  }
}

// Another client may have removed newer containers than `last`, with their sandbox.
uint32_t PodStarter::NextAttempt(const std::string& name, const ObservedContainer* last) {
  const auto [made, is_new] = made_.try_emplace(name);
  if (is_new) made->second = pod::LastLogged(host_.root, dir_->log_directory, name);
  const uint32_t next = last == nullptr ? 0 : last->attempt + 1;
  return made->second.has_value() ? std::max(next, *made->second + 1) : next;
}

std::optional<PodStarter::Failure> PodStarter::Start(const PodRecord& record, size_t index,
                                                     const std::string& sandbox,
                                                     const ObservedContainer* last) {
  const pod::ContainerManifest& container = pod_.containers[index];
  const InvolvedObject subject = SubjectOf(record, container.name);
  const char* const type = ContainerType(container.role);
  host_.counters->Add(kStartedContainers, {type});
  const auto failure = [&](absl::string_view reason, const absl::Status& status) {
    host_.counters->Add(kStartedContainersErrors, {type, std::string(reason)});
    TellStartFailure(host_.events, subject, container, reason, status);
    return Failure{{std::string(reason), WaitingMessage(container, reason, status)}, status};
  };
  std::string id;
  if (last != nullptr && last->state == ObservedState::kCreated && last->sandbox_id == sandbox) {
    id = last->id;
  } else {
    const absl::Status image = BringImage(subject, container);
    if (absl::IsFailedPrecondition(image)) return failure("CreateContainerConfigError", image);
    if (!image.ok()) return failure(ImageReason(image, container), image);
    const absl::Status told =
        TellDevicesOfStart(host_.device_manager, record.grant, container.name);
    // An absent plugin is no absent runtime: the failure is reported.
    if (!told.ok()) {
      return failure("CreateContainerConfigError", absl::FailedPreconditionError(told.message()));
    }
    if (last != nullptr && last->state == ObservedState::kUnknown) {
      host_.client.StopContainer(last->id, 0).IgnoreError();
    }
    const uint32_t attempt = NextAttempt(container.name, last);
    absl::StatusOr<std::string> made = Create(record, index, sandbox, attempt);
    if (!made.ok()) return failure("CreateContainerError", made.status());
    made_[container.name] = attempt;
    id = *std::move(made);
    host_.events.Add(subject, "Normal", "Created",
                     absl::StrCat("Created container: ", container.name));
  }
  const absl::Status started = host_.client.StartContainer(id);
  if (!started.ok()) return failure("RunContainerError", started);
  host_.events.Add(subject, "Normal", "Started",
                   absl::StrCat("Started container ", container.name));
  // The container's end is seen at the next look.
  RunPostStart(subject, container, id, sandbox).IgnoreError();
  return std::nullopt;
}

}  // namespace plimsoll::agent
