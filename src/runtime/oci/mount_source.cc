#include "runtime/oci/mount_source.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/id_mapping.h"
#include "linux/mounts.h"

namespace plimsoll::runtime {
namespace {

absl::StatusOr<UniqueFd> OpenSource(const FsRoot& host, const std::string& path) {
  absl::StatusOr<UniqueFd> source = host.OpenFile(path, O_PATH);
  if (!absl::IsNotFound(source.status())) return source;
  PLIMSOLL_RETURN_IF_ERROR(host.MakeDirs(path, 0755));
  return host.OpenFile(path, O_PATH);
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

// In plimsoll-launch's format: the pod's user namespace, or the maps themselves.
std::string MapOf(const CreateRequest& request, const Mount& mount) {
  const NamespaceOptions& pod = request.spec->security.namespaces;
  const bool is_pods =
      mount.uid_mappings == pod.uid_mappings && mount.gid_mappings == pod.gid_mappings;
  if (is_pods) return request.sandbox.user_namespace;
  return absl::StrCat(linux::IdMapText(mount.uid_mappings), ";",
                      linux::IdMapText(mount.gid_mappings));
}

}  // namespace

absl::StatusOr<MountSource> FindMountSource(const FsRoot& host, const Mount& mount,
                                            const std::string& field) {
  const absl::StatusOr<UniqueFd> source = OpenSource(host, mount.host_path);
  if (!source.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ".host_path \"", mount.host_path, "\": ", source.status().message()));
  }
  PLIMSOLL_RETURN_IF_ERROR(CheckPropagation(host, *source, mount, field));
  struct stat info = {};
  if (fstat(source->get(), &info) != 0) {
    return ErrnoStatus(errno, absl::StrCat("look at ", mount.host_path));
  }
  MountSource found;
  PLIMSOLL_ASSIGN_OR_RETURN(found.path, linux::PathOfDescriptor(*source));
  found.inode = absl::StrCat(info.st_dev, ":", info.st_ino);
  return found;
}

bool IsStaged(const Mount& mount) {
  return !mount.image.empty() || !mount.uid_mappings.empty();
}

std::string StagedPath(const std::string& stage, size_t index) {
  return absl::StrCat(stage, "/volumes/", index);
}

void AddStageToPlan(const CreateRequest& request, const std::string& stage,
                    const std::map<size_t, std::string>& inodes, LaunchPlan* plan) {
  const std::vector<Mount>& mounts = request.spec->mounts;
  const bool mapped = !request.sandbox.user_namespace.empty();
  if (!mapped && std::none_of(mounts.begin(), mounts.end(), IsStaged)) return;
  plan->Add("stage", stage);
  if (mapped) plan->Add("userns", request.sandbox.user_namespace);
  for (size_t i = 0; i < mounts.size(); ++i) {
    const Mount& mount = mounts[i];
    if (!IsStaged(mount)) continue;
    plan->Add("volume", absl::StrCat(i));
    if (mount.image.empty()) plan->Add("source", mount.host_path);
    if (const auto inode = inodes.find(i); inode != inodes.end()) plan->Add("inode", inode->second);
    if (const auto layers = request.image_layers.find(i); layers != request.image_layers.end()) {
      for (const std::string& layer : layers->second) plan->Add("layer", layer);
    }
    if (!mount.image_sub_path.empty()) plan->Add("part", mount.image_sub_path);
    if (!mount.uid_mappings.empty()) {
      plan->Add("map", MapOf(request, mount));
    } else if (mapped) {
      plan->Add("map", request.sandbox.user_namespace);  // an image's owners are the pod's
    }
  }
}

}  // namespace plimsoll::runtime
