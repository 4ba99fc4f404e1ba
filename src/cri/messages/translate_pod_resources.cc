#include "cri/messages/translate_pod_resources.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "cri/messages/translate_id_mappings.h"
#include "cri/messages/translate_mounted_image.h"
#include "cri/messages/validate.h"
#include "runtime/spec/json.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using Type = runtime::AnnouncedContainer::Type;

// The two enumerations have the same numbers.
static_assert(static_cast<int>(Type::kInit) == v1::ContainerResourceConfig::INIT_CONTAINER);
static_assert(static_cast<int>(Type::kSidecar) == v1::ContainerResourceConfig::SIDECAR_CONTAINER);
static_assert(static_cast<int>(Type::kContainer) == v1::ContainerResourceConfig::CONTAINER);
static_assert(static_cast<int>(runtime::MountPropagation::kPrivate) == v1::PROPAGATION_PRIVATE);
static_assert(static_cast<int>(runtime::MountPropagation::kHostToContainer) ==
              v1::PROPAGATION_HOST_TO_CONTAINER);
static_assert(static_cast<int>(runtime::MountPropagation::kBidirectional) ==
              v1::PROPAGATION_BIDIRECTIONAL);

using QuantityMap =
    google::protobuf::Map<std::string, k8s::io::apimachinery::pkg::api::resource::Quantity>;

std::map<std::string, std::string> ListFrom(const QuantityMap& message) {
  std::map<std::string, std::string> list;
  for (const auto& [name, quantity] : message) list[name] = quantity.string();
  return list;
}

runtime::KubernetesResources Translate(bool is_there, const v1::KubernetesResources& message) {
  runtime::KubernetesResources resources;
  resources.requests = ListFrom(message.requests());
  resources.limits = ListFrom(message.limits());
  resources.is_given_empty = is_there && resources.empty();
  return resources;
}

absl::StatusOr<runtime::Mount> AnnouncedMountFrom(const v1::Mount& mount, absl::string_view field) {
  if (!v1::MountPropagation_IsValid(mount.propagation())) {
    return Invalid(absl::StrCat(field, ".propagation"), static_cast<int64_t>(mount.propagation()),
                   "must be one of the values of MountPropagation");
  }
  runtime::Mount announced;
  announced.container_path = mount.container_path();
  announced.host_path = mount.host_path();
  announced.readonly = mount.readonly();
  announced.recursive_read_only = mount.recursive_read_only();
  announced.selinux_relabel = mount.selinux_relabel();
  announced.propagation = static_cast<runtime::MountPropagation>(mount.propagation());
  announced.uid_mappings = IdMappingsFrom(mount.uidmappings());
  announced.gid_mappings = IdMappingsFrom(mount.gidmappings());
  announced.image = mount.image().image();
  announced.image_spec = MountedImageSpecFrom(mount.image());
  // Ignored without an image, as on a container's own mount.
  if (mount.has_image()) announced.image_sub_path = mount.image_sub_path();
  announced.mount_options.assign(mount.mount_options().begin(), mount.mount_options().end());
  return announced;
}

absl::StatusOr<runtime::AnnouncedContainer> ContainerFrom(const v1::ContainerResourceConfig& config,
                                                          const std::string& field) {
  if (!v1::ContainerResourceConfig::ContainerType_IsValid(config.type())) {
    return Invalid(absl::StrCat(field, ".type"), static_cast<int64_t>(config.type()),
                   "must be INIT_CONTAINER (0), SIDECAR_CONTAINER (1) or CONTAINER (2)");
  }
  runtime::AnnouncedContainer container;
  container.name = config.name();
  container.type = static_cast<Type>(config.type());
  container.kubernetes_resources =
      Translate(config.has_kubernetes_resources(), config.kubernetes_resources());
  for (const v1::Mount& mount : config.mounts()) {
    PLIMSOLL_ASSIGN_OR_RETURN(runtime::Mount announced,
                              AnnouncedMountFrom(mount, absl::StrCat(field, ".mounts")));
    container.mounts.push_back(std::move(announced));
  }
  for (const v1::Device& device : config.devices()) {
    container.devices.push_back(
        {device.container_path(), device.host_path(), device.permissions()});
  }
  for (const v1::CDIDevice& device : config.cdi_devices()) {
    container.cdi_devices.push_back(device.name());
  }
  return container;
}

absl::Status Check(const runtime::PodResources& resources, absl::string_view field,
                   std::vector<std::string>* warnings) {
  PLIMSOLL_RETURN_IF_ERROR(runtime::Validate(resources, field));
  if (runtime::TypesAreUnknown(resources)) {
    warnings->push_back(absl::StrCat(
        field,
        " announces init containers alone; their needs are added up as if their types were "
        "unknown"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<runtime::PodResources> PodResourcesFrom(const v1::PodResourceConfig& config,
                                                       absl::string_view field,
                                                       std::vector<std::string>* warnings) {
  runtime::PodResources resources;
  resources.kubernetes_resources =
      Translate(config.has_kubernetes_resources(), config.kubernetes_resources());
  for (int i = 0; i < config.containers_size(); ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(
        runtime::AnnouncedContainer container,
        ContainerFrom(config.containers(i), absl::StrCat(field, ".containers[", i, "]")));
    resources.containers.push_back(std::move(container));
  }
  PLIMSOLL_RETURN_IF_ERROR(Check(resources, field, warnings));
  return resources;
}

absl::StatusOr<runtime::PodResources> PodResourcesOf(const v1::PodSandboxConfig& config,
                                                     std::vector<std::string>* warnings) {
  if (config.has_pod_resources()) {
    return PodResourcesFrom(config.pod_resources(), "config.pod_resources", warnings);
  }
  const auto annotation = config.annotations().find(kPodResourcesAnnotation);
  if (annotation == config.annotations().end()) return runtime::PodResources();
  const std::string field = absl::StrCat("annotation ", kPodResourcesAnnotation);
  absl::StatusOr<runtime::PodResources> resources =
      runtime::PodResourcesFromJson(annotation->second);
  if (!resources.ok()) return Annotate(resources.status(), field);
  PLIMSOLL_RETURN_IF_ERROR(Check(*resources, field, warnings));
  return resources;
}

bool AnnouncesPodResources(const v1::PodSandboxConfig& config) {
  return config.has_pod_resources() || config.annotations().contains(kPodResourcesAnnotation);
}

absl::StatusOr<std::string> PictureDirectoryOf(const v1::PodSandboxConfig& config) {
  constexpr char kAnnotation[] = "plimsoll.dev/pod-resources-mount";
  const auto annotation = config.annotations().find(kAnnotation);
  if (annotation == config.annotations().end()) return std::string();
  const std::string field = absl::StrCat("annotation ", kAnnotation);
  PLIMSOLL_RETURN_IF_ERROR(CheckAbsolutePath(field, annotation->second));
  if (annotation->second.find_first_not_of('/') == std::string::npos) {
    return Invalid(field, annotation->second, "must not be the container's root");
  }
  return annotation->second;
}

absl::StatusOr<runtime::KubernetesResources> KubernetesResourcesFrom(
    const v1::KubernetesResources& message, absl::string_view field) {
  runtime::KubernetesResources resources = Translate(/*is_there=*/true, message);
  PLIMSOLL_RETURN_IF_ERROR(Annotate(runtime::ParseResources(resources).status(), field));
  return resources;
}

}  // namespace plimsoll::cri
