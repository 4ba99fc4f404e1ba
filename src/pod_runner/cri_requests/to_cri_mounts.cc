#include "pod_runner/cri_requests/to_cri_mounts.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/normal_path.h"
#include "pod_runner/manifest/manifest_fields.h"
#include "pod_runner/manifest/objects.h"

namespace plimsoll::pod {
namespace {

// A missing variable in a path would make another path of it (kubelet refuses it too).
absl::StatusOr<std::string> SubPathOf(const VolumeMount& mount,
                                      const std::map<std::string, std::string>& variables,
                                      ProgramRoom& room) {
  if (mount.sub_path_expr.empty()) return mount.sub_path;
  for (size_t at = mount.sub_path_expr.find("$("); at != std::string::npos;
       at = mount.sub_path_expr.find("$(", at + 2)) {
    const size_t end = mount.sub_path_expr.find(')', at);
    if (end == std::string::npos || (at > 0 && mount.sub_path_expr[at - 1] == '$')) continue;
    const std::string name = mount.sub_path_expr.substr(at + 2, end - at - 2);
    if (variables.contains(name)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("subPathExpr ", mount.sub_path_expr, ": there is no variable ", name));
  }
  absl::StatusOr<std::string> path = ExpandReferences(mount.sub_path_expr, variables, room);
  absl::Status status = path.status();
  if (status.ok()) status = room.Take(path->size());
  PLIMSOLL_RETURN_IF_ERROR(Annotate(status, absl::StrCat("subPathExpr ", mount.sub_path_expr)));
  if (IsBelow(*path) && IsText(*path)) return path;
  // The value may be a Secret's.
  return absl::InvalidArgumentError(
      absl::StrCat("subPathExpr ", mount.sub_path_expr,
                   ": must become a relative path without \"..\", of UTF-8"));
}

const Volume* FindVolume(const Manifest& pod, const std::string& name) {
  const auto found = std::find_if(pod.volumes.begin(), pod.volumes.end(),
                                  [&](const Volume& volume) { return volume.name == name; });
  return found == pod.volumes.end() ? nullptr : &*found;
}

void SetImage(const ImageVolume& image, const std::string& sub_path, const PodContext& context,
              cri::Mount* out) {
  const auto id = context.image_ids.find(image.reference);
  out->mutable_image()->set_image(id == context.image_ids.end() ? image.reference : id->second);
  out->mutable_image()->set_user_specified_image(image.reference);
  out->set_image_sub_path(sub_path);
  out->set_readonly(true);
}

cri::MountPropagation PropagationOf(const VolumeMount& mount) {
  return mount.propagation == "Bidirectional"     ? cri::PROPAGATION_BIDIRECTIONAL
         : mount.propagation == "HostToContainer" ? cri::PROPAGATION_HOST_TO_CONTAINER
                                                  : cri::PROPAGATION_PRIVATE;
}

// Without a mapping the host's root would be "nobody" in the container.
void MapIds(const Manifest& pod, const PodContext& context, cri::Mount* out) {
  if (pod.host_users) return;
  SetIds(context, out->add_uidmappings());
  SetIds(context, out->add_gidmappings());
}

absl::StatusOr<std::string> SetMount(const Manifest& pod, const VolumeMount& mount,
                                     const PodContext& context,
                                     const std::map<std::string, std::string>& variables,
                                     ProgramRoom& room, cri::Mount* out) {
  const Volume* volume = FindVolume(pod, mount.volume);
  const auto path = context.volumes.find(mount.volume);
  const bool is_image = volume != nullptr && volume->image;
  if (volume == nullptr || (!is_image && path == context.volumes.end())) {
    return absl::InvalidArgumentError(absl::StrCat("no volume \"", mount.volume, "\""));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(std::string sub_path, SubPathOf(mount, variables, room));
  out->set_container_path(mount.mount_path);
  out->set_propagation(PropagationOf(mount));
  if (is_image) {
    SetImage(*volume->image, sub_path, context, out);
    return "";
  }
  out->set_host_path(sub_path.empty() ? path->second : absl::StrCat(path->second, "/", sub_path));
  out->set_readonly(mount.read_only || volume->files.has_value());
  // A hostPath's labels are the host's.
  out->set_selinux_relabel(!volume->IsHostPath());
  MapIds(pod, context, out);
  return sub_path;
}

bool MountsAt(const ContainerManifest& container, absl::string_view path) {
  return std::any_of(
      container.mounts.begin(), container.mounts.end(),
      [&](const VolumeMount& mount) { return NormalPath(mount.mount_path) == path; });
}

// An image is a directory, which would be in the way of a file that the container has there.
absl::Status CheckPlaceOfImage(const Manifest& pod, const ContainerManifest& container,
                               const VolumeMount& mount) {
  const Volume* volume = FindVolume(pod, mount.volume);
  if (volume == nullptr || !volume->image) return absl::OkStatus();
  const std::string path = NormalPath(mount.mount_path);
  const bool is_log = path == NormalPath(container.termination_message_path);
  if (!is_log && path != "/etc/hosts" && path != "/etc/hostname" && path != "/etc/resolv.conf") {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("volume \"", mount.volume, "\" is an image, and so a directory: it can't be at ",
                   path, ", the place of ", is_log ? "the termination log" : "a file"));
}

void AddFile(const Manifest& pod, const PodContext& context, const std::string& host_path,
             const std::string& container_path, cri::ContainerConfig* config) {
  cri::Mount* out = config->add_mounts();
  out->set_host_path(host_path);
  out->set_container_path(container_path);
  out->set_selinux_relabel(true);
  MapIds(pod, context, out);
}

}  // namespace

void SetIds(const PodContext& context, cri::IDMapping* out) {
  out->set_container_id(0);
  out->set_host_id(context.first_id);
  out->set_length(kIdsOfAPod);
}

absl::StatusOr<std::vector<std::string>> SetMounts(
    const Manifest& pod, const ContainerManifest& container, const PodContext& context,
    const std::map<std::string, std::string>& variables, ProgramRoom& room,
    cri::ContainerConfig* config) {
  std::vector<std::string> sub_paths;
  for (const VolumeMount& mount : container.mounts) {
    const std::string where = absl::StrCat(pod.file, ": container ", container.name);
    PLIMSOLL_RETURN_IF_ERROR(Annotate(CheckPlaceOfImage(pod, container, mount), where));
    absl::StatusOr<std::string> sub_path =
        SetMount(pod, mount, context, variables, room, config->add_mounts());
    if (!sub_path.ok()) return Annotate(sub_path.status(), where);
    sub_paths.push_back(*std::move(sub_path));
  }
  if (!context.hosts_file.empty() && !MountsAt(container, "/etc/hosts")) {
    AddFile(pod, context, context.hosts_file, "/etc/hosts", config);
  }
  const auto log = context.termination_logs.find(container.name);
  if (log != context.termination_logs.end()) {
    AddFile(pod, context, log->second, container.termination_message_path, config);
  }
  return sub_paths;
}

void SetDeviceMounts(const GivenDevices& devices, cri::ContainerConfig* config) {
  const int of_others = config->mounts_size();
  const auto is_taken = [&](const DeviceMount& mount) {
    return std::any_of(config->mounts().begin(), config->mounts().begin() + of_others,
                       [&](const cri::Mount& other) {
                         return NormalPath(other.container_path()) ==
                                NormalPath(mount.container_path);
                       });
  };
  for (const DeviceMount& mount : devices.mounts) {
    if (is_taken(mount)) continue;
    cri::Mount* out = config->add_mounts();
    out->set_host_path(mount.host_path);
    out->set_container_path(mount.container_path);
    out->set_readonly(mount.read_only);
  }
}

}  // namespace plimsoll::pod
