#include "runtime/group_paths.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::runtime {
namespace {

bool IsSlice(const SandboxRecord& sandbox) {
  return absl::EndsWith(sandbox.cgroup_path, ".slice");
}

}  // namespace

std::string ContainerGroupOf(const SandboxRecord& sandbox, const std::string& container_id) {
  if (!IsSlice(sandbox)) return absl::StrCat(sandbox.cgroup_path, "/", container_id);
  return absl::StrCat(sandbox.cgroup_path, "/plimsoll-", container_id, ".scope");
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
