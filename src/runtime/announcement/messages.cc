#include "runtime/announcement/messages.h"

#include <map>
#include <string>

namespace plimsoll::runtime {
namespace {

namespace v1 = ::runtime::v1;
using QuantityMap =
    google::protobuf::Map<std::string, k8s::io::apimachinery::pkg::api::resource::Quantity>;

void FillList(const std::map<std::string, std::string>& list, QuantityMap* out) {
  for (const auto& [name, text] : list) (*out)[name].set_string(text);
}

void FillMount(const Mount& mount, v1::Mount* out) {
  out->set_container_path(mount.container_path);
  out->set_host_path(mount.host_path);
  out->set_readonly(mount.readonly);
  out->set_recursive_read_only(mount.recursive_read_only);
  out->set_selinux_relabel(mount.selinux_relabel);
  out->set_propagation(static_cast<v1::MountPropagation>(mount.propagation));
  FillIdMappings(mount.uid_mappings, out->mutable_uidmappings());
  FillIdMappings(mount.gid_mappings, out->mutable_gidmappings());
  if (!mount.image.empty() || mount.image_spec != MountedImageSpec()) {
    out->mutable_image()->set_image(mount.image);
    FillMountedImageSpec(mount.image_spec, out->mutable_image());
  }
  out->set_image_sub_path(mount.image_sub_path);
  for (const std::string& option : mount.mount_options) out->add_mount_options(option);
}

void FillContainer(const AnnouncedContainer& container, v1::ContainerResourceConfig* out) {
  out->set_name(container.name);
  out->set_type(static_cast<v1::ContainerResourceConfig::ContainerType>(container.type));
  if (container.kubernetes_resources.is_given()) {
    FillKubernetesResources(container.kubernetes_resources, out->mutable_kubernetes_resources());
  }
  for (const Mount& mount : container.mounts) FillMount(mount, out->add_mounts());
  for (const DeviceMapping& device : container.devices) {
    v1::Device* added = out->add_devices();
    added->set_container_path(device.container_path);
    added->set_host_path(device.host_path);
    added->set_permissions(device.permissions);
  }
  for (const std::string& name : container.cdi_devices) out->add_cdi_devices()->set_name(name);
}

}  // namespace

void FillIdMappings(const std::vector<IdMapping>& mappings,
                    google::protobuf::RepeatedPtrField<v1::IDMapping>* out) {
  for (const IdMapping& each : mappings) {
    v1::IDMapping* mapping = out->Add();
    mapping->set_host_id(each.host_id);
    mapping->set_container_id(each.container_id);
    mapping->set_length(each.length);
  }
}

void FillMountedImageSpec(const MountedImageSpec& spec, v1::ImageSpec* out) {
  out->mutable_annotations()->insert(spec.annotations.begin(), spec.annotations.end());
  out->set_user_specified_image(spec.user_specified_image);
  out->set_runtime_handler(spec.runtime_handler);
  out->set_image_ref(spec.image_ref);
}

void FillPodResources(const PodResources& resources, v1::PodResourceConfig* out) {
  for (const AnnouncedContainer& container : resources.containers) {
    FillContainer(container, out->add_containers());
  }
  if (!resources.kubernetes_resources.is_given()) return;
  FillKubernetesResources(resources.kubernetes_resources, out->mutable_kubernetes_resources());
}

void FillKubernetesResources(const KubernetesResources& resources, v1::KubernetesResources* out) {
  FillList(resources.requests, out->mutable_requests());
  FillList(resources.limits, out->mutable_limits());
}

}  // namespace plimsoll::runtime
