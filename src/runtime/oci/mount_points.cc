#include "runtime/oci/mount_points.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/normal_path.h"
#include "runtime/spec/paths.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

constexpr absl::string_view kFilesOfAll[] = {"/etc/hosts", "/etc/hostname", "/etc/resolv.conf"};

// A mount of the request.
struct Asked {
  std::string name;  // "mounts[0] (the image \"busybox\")"
  MountKind kind = MountKind::kDirectory;
};

using Kinds = absl::flat_hash_map<std::string, MountKind>;  // by the source's path in the stage

bool IsInKernelsTrees(const std::string& path) {
  return absl::c_any_of(std::initializer_list<absl::string_view>{"/proc", "/dev", "/sys"},
                        [&](absl::string_view top) { return IsAtOrBelow(path, top); });
}

bool IsBind(const Json& mount) {
  const Json options = mount.value("options", Json::array());
  return mount.value("type", "") == "bind" || absl::c_linear_search(options, Json("bind")) ||
         absl::c_linear_search(options, Json("rbind"));
}

// Images are not among `kinds`: they are directories, as a new file system is.
MountKind KindOf(const FsRoot& host, const std::string& stage, const Kinds& kinds,
                 const Json& mount) {
  if (!IsBind(mount)) return MountKind::kDirectory;
  const std::string source = mount.value("source", "");
  if (const auto found = kinds.find(source); found != kinds.end()) return found->second;
  if (IsAtOrBelow(source, stage)) return MountKind::kDirectory;
  // A file of the sandbox's place, or /dev/shm.
  const absl::StatusOr<struct stat> info = host.Stat(source);
  return info.ok() && S_ISDIR(info->st_mode) ? MountKind::kDirectory : MountKind::kFile;
}

absl::Status CheckTwo(const std::string& path, const Asked& first, const Asked& second) {
  if (first.kind == second.kind) return absl::OkStatus();
  const bool is_file = first.kind == MountKind::kFile;
  const Asked& file = is_file ? first : second;
  const Asked& directory = is_file ? second : first;
  return absl::InvalidArgumentError(absl::StrCat(directory.name, " is a directory and can't be at ",
                                                 path, ", the place of ", file.name,
                                                 ", which is a file"));
}

// The request's mounts by their place.
absl::StatusOr<absl::flat_hash_map<std::string, Asked>> AskedMounts(const CreateRequest& request,
                                                                    const std::string& stage,
                                                                    const Kinds& kinds) {
  absl::flat_hash_map<std::string, Asked> all;
  const std::vector<Mount>& mounts = request.spec->mounts;
  for (size_t i = 0; i < mounts.size(); ++i) {
    const Mount& mount = mounts[i];
    const bool is_image = !mount.image.empty();
    Asked asked;
    asked.name = absl::StrCat("mounts[", i, "] (", is_image ? "the image \"" : "host_path \"",
                              is_image ? mount.image : mount.host_path, "\")");
    const auto kind = kinds.find(StagedPath(stage, i));
    if (kind != kinds.end()) asked.kind = kind->second;
    const std::string path = NormalPath(mount.container_path);
    const auto [before, is_new] = all.try_emplace(path, asked);
    if (!is_new) PLIMSOLL_RETURN_IF_ERROR(CheckTwo(path, before->second, asked));
  }
  return all;
}

}  // namespace

absl::StatusOr<std::vector<MountPoint>> MountPointsOf(const CreateRequest& request,
                                                      const FsRoot& host, const std::string& stage,
                                                      const std::vector<HeldVolume>& volumes,
                                                      const Json& mounts) {
  Kinds kinds;
  for (const HeldVolume& volume : volumes) kinds[StagedPath(stage, volume.name)] = volume.kind;
  PLIMSOLL_ASSIGN_OR_RETURN(const auto asked, AskedMounts(request, stage, kinds));
  std::vector<MountPoint> points;
  for (const Json& mount : mounts) {
    MountPoint point = {.path = NormalPath(mount["destination"].get<std::string>()),
                        .kind = MountKind::kDirectory};
    if (IsInKernelsTrees(point.path)) continue;
    point.kind = KindOf(host, stage, kinds, mount);
    if (point.kind == MountKind::kDirectory && absl::c_linear_search(kFilesOfAll, point.path)) {
      const auto of = asked.find(point.path);
      return absl::InvalidArgumentError(absl::StrCat(
          of == asked.end() ? "the mount of a plugin or a CDI device" : of->second.name,
          " is a directory and can't be at ", point.path, ", where a file belongs"));
    }
    points.push_back(std::move(point));
  }
  return points;
}

void AddMountPointsToPlan(const std::vector<MountPoint>& points, PlanWriter* plan) {
  for (const MountPoint& point : points) {
    plan->Add(point.kind == MountKind::kFile ? "file" : "directory", point.path);
  }
}

}  // namespace plimsoll::runtime
