#include "runtime/oci/declared_volumes.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/normal_path.h"
#include "nlohmann/json.hpp"
#include "runtime/oci/mount_source.h"
#include "runtime/spec/paths.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxVolumes = 64;
constexpr size_t kMaxPathBytes = 4095;  // PATH_MAX without its NUL

std::string FromTheRoot(absl::string_view path) {
  return NormalPath(absl::StrCat("/", path));
}

absl::Status Refuse(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the image's VOLUME", why,
      "; \"volumes: ignore\" in plimsolld's configuration runs such an image without its volumes"));
}

// Whether a mount of the spec covers the path. Mounts that every container has at /proc, /dev and
// /sys are no answer to a volume there.
bool IsCovered(const Json& mounts, const std::string& path) {
  return absl::c_any_of(mounts, [&path](const Json& mount) {
    const std::string at = FromTheRoot(mount["destination"].get_ref<const std::string&>());
    const bool is_kernels = at == "/proc" || at == "/dev" || at == "/sys";
    return is_kernels ? mount.value("type", "") == "bind" && IsAtOrBelow(path, at)
                      : IsAtOrBelow(path, at);
  });
}

absl::Status CheckPlace(const std::string& path) {
  const std::string shown = absl::StrCat(" \"", absl::CHexEscape(path.substr(0, 200)), "\" ");
  if (path.size() > kMaxPathBytes) {
    return Refuse(absl::StrCat(shown, "has ", path.size(), " bytes; at most ", kMaxPathBytes,
                               " are possible"));
  }
  if (path == "/") return Refuse(absl::StrCat(shown, "would be the whole root filesystem"));
  for (const char* top : {"/proc", "/dev", "/sys"}) {
    if (!IsAtOrBelow(path, top)) continue;
    return Refuse(absl::StrCat(shown, "can't be at or below ", top, ", which is the kernel's"));
  }
  return absl::OkStatus();
}

std::string StageName(size_t index) {
  return absl::StrCat("data", index);
}

}  // namespace

absl::StatusOr<DeclaredVolumes> AddDeclaredVolumes(const std::vector<std::string>& declared,
                                                   const std::string& stage, Json* config) {
  DeclaredVolumes volumes;
  if (declared.empty()) return volumes;
  if (declared.size() > kMaxVolumes) {
    return Refuse(absl::StrCat(" list has ", declared.size(), " paths; at most ", kMaxVolumes,
                               " are possible"));
  }
  Json& mounts = (*config)["mounts"];
  for (const std::string& each : declared) {
    std::string path = FromTheRoot(each);
    if (IsCovered(mounts, path)) continue;
    PLIMSOLL_RETURN_IF_ERROR(CheckPlace(path));
    volumes.paths.push_back(std::move(path));
  }
  absl::c_sort(volumes.paths);  // a parent's name is shorter, so it comes first
  volumes.paths.erase(std::unique(volumes.paths.begin(), volumes.paths.end()), volumes.paths.end());
  volumes.mounted = (*config)["root"].value("readonly", false) && !volumes.paths.empty();
  if (!volumes.mounted) return volumes;
  // Before all other mounts, which may be below.
  Json all = Json::array();
  for (size_t i = 0; i < volumes.paths.size(); ++i) {
    all.push_back({{"destination", volumes.paths[i]},
                   {"type", "bind"},
                   {"source", StagedPath(stage, StageName(i))},
                   {"options", {"bind", "rprivate", "rw"}}});
  }
  for (Json& mount : mounts) all.push_back(std::move(mount));
  mounts = std::move(all);
  return volumes;
}

void AddDeclaredVolumesToPlan(const DeclaredVolumes& volumes, PlanWriter* plan) {
  for (size_t i = 0; i < volumes.paths.size(); ++i) {
    plan->Add("data", volumes.paths[i]);
    if (volumes.mounted) plan->Add("as", StageName(i));
  }
}

}  // namespace plimsoll::runtime
