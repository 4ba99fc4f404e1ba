#include "runtime/oci/mount_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/namespaces/id_mapping.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::runtime {
namespace {

// O_DIRECTORY first: without it the look-up doesn't mount what an automount point stands for.
absl::StatusOr<UniqueFd> OpenExisting(const FsRoot& host, const std::string& path) {
  absl::StatusOr<UniqueFd> directory = host.OpenFile(path, O_PATH | O_DIRECTORY);
  if (ErrnoOf(directory.status()) != ENOTDIR) return directory;
  return host.OpenFile(path, O_PATH);
}

absl::StatusOr<UniqueFd> OpenSource(const FsRoot& host, const std::string& path) {
  absl::StatusOr<UniqueFd> source = OpenExisting(host, path);
  if (!absl::IsNotFound(source.status())) return source;
  PLIMSOLL_RETURN_IF_ERROR(host.MakeDirs(path, 0755));
  return OpenExisting(host, path);
}

absl::StatusOr<MountSource> Found(UniqueFd file) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::string path, linux::PathOfDescriptor(file));
  return MountSource{.path = std::move(path), .file = std::move(file)};
}

// Mounts spread from and to shared mounts (mount_namespaces(7)); to a slave mount they only come.
absl::Status CheckPropagation(const FsRoot& host, const UniqueFd& source, const Mount& mount,
                              const std::string& field) {
  if (mount.propagation == MountPropagation::kPrivate) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const linux::MountInfo holder, linux::MountOf(host, source));
  const bool both = mount.propagation == MountPropagation::kBidirectional;
  if (holder.shared || (!both && holder.slave)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      field, ".propagation is ", both ? "bidirectional" : "host to container",
      ", but its host_path \"", mount.host_path, "\" is on the mount at \"", holder.mount_point,
      "\", and that mount is ", holder.slave ? "a slave" : "private",
      ": nothing would spread; make that mount shared (\"mount --make-rshared ", holder.mount_point,
      "\")"));
}

}  // namespace

// The pod's user namespace, or the maps themselves.
std::string IdsOf(const CreateRequest& request, const Mount& mount) {
  if (mount.uid_mappings.empty()) return "";
  const NamespaceOptions& pod = request.spec->security.namespaces;
  const bool is_pods =
      mount.uid_mappings == pod.uid_mappings && mount.gid_mappings == pod.gid_mappings;
  if (is_pods) return request.sandbox.user_namespace;
  return absl::StrCat(linux::IdMapText(mount.uid_mappings), ";",
                      linux::IdMapText(mount.gid_mappings));
}

absl::StatusOr<MountSource> FindMountSource(const FsRoot& host, const Mount& mount,
                                            const std::string& field) {
  absl::StatusOr<UniqueFd> source = OpenSource(host, mount.host_path);
  if (!source.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ".host_path \"", mount.host_path, "\": ", source.status().message()));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckPropagation(host, *source, mount, field));
  return Found(*std::move(source));
}

absl::StatusOr<MountSource> FindExistingSource(const FsRoot& host, const std::string& path) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd file, OpenExisting(host, path));
  return Found(std::move(file));
}

absl::StatusOr<HeldVolume> HoldVolume(const MountSource& source, std::string name) {
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd tree, linux::CopyMount(source.file, source.path));
  struct stat info = {};
  if (fstat(tree.get(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("look at ", source.path));
  }
  const MountKind kind = S_ISDIR(info.st_mode) ? MountKind::kDirectory : MountKind::kFile;
  return HeldVolume{.name = std::move(name),
                    .path = source.path,
                    .map = "",
                    .kind = kind,
                    .tree = std::move(tree)};
}

std::string StagedPath(const std::string& stage, absl::string_view volume) {
  return absl::StrCat(stage, "/volumes/", volume);
}
std::string StagedPath(const std::string& stage, size_t mount_index) {
  return StagedPath(stage, absl::StrCat(mount_index));
}

void AddStageToPlan(const CreateRequest& request, const std::string& stage,
                    std::vector<HeldVolume> volumes, bool is_needed, PlanWriter* plan) {
  const bool mapped = !request.sandbox.user_namespace.empty();
  const std::vector<Mount>& mounts = request.spec->mounts;
  const bool has_image =
      absl::c_any_of(mounts, [](const Mount& each) { return !each.image.empty(); });
  if (!mapped && !has_image && volumes.empty() && !is_needed) return;
  plan->Add("stage", stage);
  if (mapped) plan->Add("userns", request.sandbox.user_namespace);
  for (HeldVolume& volume : volumes) {
    plan->AddVolume(volume.name, std::move(volume.tree), volume.path, volume.map);
  }
  for (size_t i = 0; i < mounts.size(); ++i) {
    const Mount& mount = mounts[i];
    if (mount.image.empty()) continue;
    plan->Add("volume", absl::StrCat(i));
    if (const auto layers = request.image_layers.find(i); layers != request.image_layers.end()) {
      for (const std::string& layer : layers->second) plan->Add("layer", layer);
    }
    if (!mount.image_sub_path.empty()) plan->Add("part", mount.image_sub_path);
    // An image's owners are the pod's, unless the mount says otherwise.
    const std::string map =
        mount.uid_mappings.empty() ? request.sandbox.user_namespace : IdsOf(request, mount);
    if (!map.empty()) plan->Add("map", map);
  }
}

}  // namespace plimsoll::runtime
