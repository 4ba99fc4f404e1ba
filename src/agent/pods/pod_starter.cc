#include "agent/pods/pod_starter.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random_id.h"
#include "base/status.h"
#include "pod/host.h"
#include "pod/images.h"
#include "pod/mount_sub_paths.h"
#include "pod/user_ids.h"

namespace plimsoll::agent {
namespace {

// The reason that kubelet gives for an image that isn't there.
std::string ImageReason(const absl::Status& status, const pod::ContainerManifest& container) {
  if (absl::IsNotFound(status) && container.pull_policy == "Never") return "ErrImageNeverPull";
  if (absl::IsInvalidArgument(status)) return "InvalidImageName";
  return "ErrImagePull";
}

}  // namespace

EventSubject PodStarter::SubjectOf(const PodRecord& record, const std::string& container) const {
  return {.kind = "Pod", .key = record.key, .uid = record.uid, .container = container};
}

// The search begins at a random range, so that two agents of one machine seldom meet.
absl::Status PodStarter::ChooseIds(PodRecord& record) {
  if (pod_.host_users || record.first_id != 0) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const auto taken, pod::TakenIds(host_.client));
  const unsigned long chance = std::stoul(RandomId().substr(0, 8), nullptr, 16);
  PLIMSOLL_ASSIGN_OR_RETURN(record.first_id,
                            pod::FreeIds(taken, static_cast<uint32_t>(chance % pod::kPodIdRanges)));
  return host_.store.Put({record});
}

// With the messages of classes, even empty ones, the runtime reads no annotation.
absl::Status PodStarter::Extend(pod::PodConfigs& configs) const {
  PLIMSOLL_ASSIGN_OR_RETURN(const ClassRequests requests, host_.classes(pod_));
  auto& pod_classes = *configs.sandbox.mutable_class_resources()->mutable_class_();
  for (const auto& [type, name] : requests.pod) pod_classes[type] = name;
  if (!host_.passes_resources_down) configs.sandbox.clear_pod_resources();
  for (size_t i = 0; i < pod_.containers.size(); ++i) {
    auto& config = configs.containers[i];
    auto& classes = *config.mutable_class_resources()->mutable_classes();
    for (const auto& [type, name] : requests.containers.at(pod_.containers[i].name)) {
      classes[type] = name;
    }
    if (!host_.passes_resources_down) config.clear_kubernetes_resources();
    (*config.mutable_labels())[kAgentLabel] = host_.node.name;
  }
  (*configs.sandbox.mutable_labels())[kAgentLabel] = host_.node.name;
  return absl::OkStatus();
}

absl::Status PodStarter::Prepare(PodRecord& record) {
  if (configs_) return absl::OkStatus();
  PLIMSOLL_RETURN_IF_ERROR(ChooseIds(record));
  PLIMSOLL_ASSIGN_OR_RETURN(pod::PodDir dir,
                            pod::MakePodDir(host_.root, host_.state_directory, record.uid, pod_));
  pod::PodContext context;
  context.uid = record.uid;
  context.log_directory = dir.log_directory;
  context.volumes = dir.volumes;
  context.first_id = record.first_id;
  if (host_.pod_class_types) context.pod_class_types = host_.pod_class_types();
  PLIMSOLL_ASSIGN_OR_RETURN(context.memory_capacity_bytes, pod::MemoryCapacityBytes(host_.root));
  // A machine without the file has no DNS to add to.
  context.host_dns = pod::ParseResolvConf(host_.root.Read("etc/resolv.conf").value_or(""));
  PLIMSOLL_ASSIGN_OR_RETURN(pod::PodConfigs configs, pod::ToCri(pod_, context));
  if (host_.make_group) {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string parent, host_.make_group(record, pod_));
    configs.sandbox.mutable_linux()->set_cgroup_parent(parent);
  }
  PLIMSOLL_RETURN_IF_ERROR(Extend(configs));
  dir_ = std::move(dir);
  configs_ = std::move(configs);
  return absl::OkStatus();
}

absl::StatusOr<std::string> PodStarter::MakeSandbox(uint32_t attempt) {
  configs_->sandbox.mutable_metadata()->set_attempt(attempt);
  return host_.client.RunPodSandbox(configs_->sandbox);
}

absl::Status PodStarter::BringImage(const EventSubject& subject,
                                    const pod::ContainerManifest& container) {
  const auto pull = [&](const std::string& reference) {
    host_.events.Add(subject, "Normal", "Pulling",
                     absl::StrCat("Pulling image \"", reference, "\""));
    ::runtime::v1::PullImageRequest request;
    request.mutable_image()->set_image(reference);
    *request.mutable_sandbox_config() = configs_->sandbox;
    return host_.client.PullImage(request);
  };
  pod::PodImages images(host_.client, pull);
  PLIMSOLL_ASSIGN_OR_RETURN(const auto image, images.Ensure(container));
  host_.events.Add(subject, "Normal", "Pulled",
                   absl::StrCat("Container image \"", container.image, "\" is present on machine"));
  return pod::CheckNonRoot(pod_, container, image);
}

absl::StatusOr<std::string> PodStarter::Create(const pod::ContainerManifest& container,
                                               size_t index, const std::string& sandbox,
                                               uint32_t attempt) {
  auto& config = configs_->containers[index];
  config.mutable_metadata()->set_attempt(attempt);
  config.set_log_path(pod::LogPathOf(container.name, attempt));
  PLIMSOLL_RETURN_IF_ERROR(pod::MountSubPaths(host_.root, container, dir_->volumes, config));
  return host_.client.CreateContainer(sandbox, config, configs_->sandbox);
}

std::optional<PodStarter::Failure> PodStarter::Start(const PodRecord& record, size_t index,
                                                     const std::string& sandbox,
                                                     const ObservedContainer* last) {
  const pod::ContainerManifest& container = pod_.containers[index];
  const EventSubject subject = SubjectOf(record, container.name);
  const auto failure = [&](absl::string_view reason, const absl::Status& status) {
    host_.events.Add(subject, "Warning", "Failed", absl::StrCat("Error: ", status.message()));
    return Failure{{std::string(reason), std::string(status.message())}, status};
  };
  std::string id;
  if (last != nullptr && last->state == ContainerState::kCreated && last->sandbox_id == sandbox) {
    id = last->id;
  } else {
    const absl::Status image = BringImage(subject, container);
    if (absl::IsFailedPrecondition(image)) return failure("CreateContainerConfigError", image);
    if (!image.ok()) return failure(ImageReason(image, container), image);
    if (last != nullptr && last->state == ContainerState::kUnknown) {
      host_.client.StopContainer(last->id, 0).IgnoreError();
    }
    const uint32_t attempt = last == nullptr ? 0 : last->attempt + 1;
    absl::StatusOr<std::string> made = Create(container, index, sandbox, attempt);
    if (!made.ok()) return failure("CreateContainerError", made.status());
    id = *std::move(made);
    host_.events.Add(subject, "Normal", "Created",
                     absl::StrCat("Created container: ", container.name));
  }
  const absl::Status started = host_.client.StartContainer(id);
  if (!started.ok()) return failure("RunContainerError", started);
  host_.events.Add(subject, "Normal", "Started",
                   absl::StrCat("Started container ", container.name));
  return std::nullopt;
}

}  // namespace plimsoll::agent
