#include "runtime/cgroups/group_paths.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "linux/cgroup/cgroup.h"

namespace plimsoll::runtime {
namespace {

bool IsSlice(const SandboxRecord& sandbox) {
  return absl::EndsWith(sandbox.cgroup_path, ".slice");
}

// "/kubepods.slice/x.scope" of systemd's form "kubepods.slice:prefix:name"; other texts as they
// are.
absl::StatusOr<std::string> AsPath(absl::string_view wanted) {
  const std::vector<std::string> parts = absl::StrSplit(wanted, ':');
  if (parts.size() != 3) return std::string(wanted);
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string slice, linux::ExpandCgroupParent(parts[0]));
  return absl::StrCat(slice, "/", parts[1], "-", parts[2], ".scope");
}

}  // namespace

std::string ContainerGroupOf(const SandboxRecord& sandbox, const std::string& container_id) {
  if (!IsSlice(sandbox)) return absl::StrCat(sandbox.cgroup_path, "/", container_id);
  return absl::StrCat(sandbox.cgroup_path, "/plimsoll-", container_id, ".scope");
}

absl::StatusOr<std::string> GroupByPlugin(const SandboxRecord& sandbox, absl::string_view wanted) {
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string asked, AsPath(wanted));
  PLIMSOLL_ASSIGN_OR_RETURN(const std::string path, linux::NormalizeCgroupPath(asked));
  absl::string_view name = path;
  if (!absl::ConsumePrefix(&name, absl::StrCat(sandbox.cgroup_path, "/")) ||
      absl::StrContains(name, '/')) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", wanted, "\" is not directly below the pod's group, \"", sandbox.cgroup_path, "\""));
  }
  if (IsSlice(sandbox) && !absl::EndsWith(name, ".scope")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", wanted, "\" is below a slice of systemd's, so its name must end in \".scope\""));
  }
  if (absl::StartsWith(name, "plimsoll-") || absl::StartsWith(name, "pause-")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", wanted, "\": names that begin with \"plimsoll-\" or \"pause-\" are Plimsoll's own"));
  }
  return path;
}

// This name and the next hold the sandbox's id: several pods may name one cgroup parent.
std::string PauseCgroupOf(const SandboxRecord& sandbox) {
  const std::string name = absl::StrCat("pause-", sandbox.id);
  if (!IsSlice(sandbox)) return absl::StrCat(sandbox.cgroup_path, "/", name);
  return absl::StrCat(sandbox.cgroup_path, "/plimsoll-", name, ".scope");
}

std::string KeeperOf(const SandboxRecord& sandbox) {
  if (!IsSlice(sandbox)) return "";
  return absl::StrCat(sandbox.cgroup_path, "/plimsoll-keep-", sandbox.id);
}

bool OwnsItsGroup(const SandboxRecord& sandbox) {
  return absl::c_linear_search(sandbox.owned_cgroups, sandbox.cgroup_path);
}

}  // namespace plimsoll::runtime
