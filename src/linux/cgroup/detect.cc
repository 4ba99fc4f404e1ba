// Finds the mounted hierarchies in mountinfo: distributions name the directories differently, and
// put different controllers together.
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "linux/cgroup/cgroup.h"
#include "linux/cgroup/v1.h"
#include "linux/cgroup/v2.h"
#include "linux/cgroup/v2_tree.h"
#include "linux/namespaces/mounts.h"

namespace plimsoll::linux {
namespace {

constexpr char kCgroupRoot[] = "/sys/fs/cgroup";

// Every controller that cgroup v1 has had; other words among the mount options are flags.
constexpr absl::string_view kControllers[] = {
    "blkio",  "cpu",  "cpuacct", "cpuset",   "devices",    "freezer", "hugetlb",
    "memory", "misc", "net_cls", "net_prio", "perf_event", "pids",    "rdma",
};

struct Found {
  std::vector<CgroupHierarchy> v1;
  std::shared_ptr<CgroupTree> v2;
  bool v2_is_root = false;  // mounted at /sys/fs/cgroup itself
};

// mountinfo also lists a mount that another one covers, but its path shows nothing of it.
std::shared_ptr<CgroupTree> OpenTree(const FsRoot& root, const MountInfo& mount) {
  auto directory = root.Sub(mount.mount_point);
  if (!directory.ok() || !directory->Exists("cgroup.procs")) return nullptr;
  if (mount.fs_type == "cgroup2") {
    return std::make_shared<CgroupV2Tree>(*std::move(directory), root);
  }
  return std::make_shared<CgroupTree>(*std::move(directory));
}

absl::StatusOr<Found> FindHierarchies(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(const auto mounts, ReadMounts(root));
  Found found;
  std::set<std::string> seen;  // a hierarchy may be mounted more than once
  for (const MountInfo& mount : mounts) {
    const bool is_below = mount.mount_point == kCgroupRoot ||
                          absl::StartsWith(mount.mount_point, absl::StrCat(kCgroupRoot, "/"));
    if (!is_below) continue;
    if (mount.fs_type == "cgroup2" && found.v2 == nullptr) {
      found.v2 = OpenTree(root, mount);
      found.v2_is_root = mount.mount_point == kCgroupRoot;
    }
    if (mount.fs_type != "cgroup") continue;
    CgroupHierarchy hierarchy;
    std::string identity;
    for (const std::string& option : mount.super_options) {
      const bool is_controller = absl::c_linear_search(kControllers, option);
      if (is_controller) hierarchy.controllers.push_back(option);
      if (is_controller || absl::StartsWith(option, "name="))
        absl::StrAppend(&identity, option, ",");
    }
    if (seen.contains(identity)) continue;
    hierarchy.tree = OpenTree(root, mount);
    if (hierarchy.tree == nullptr) continue;
    seen.insert(identity);
    found.v1.push_back(std::move(hierarchy));
  }
  return found;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CgroupManager>> CgroupManager::Detect(const FsRoot& root) {
  PLIMSOLL_ASSIGN_OR_RETURN(Found found, FindHierarchies(root));
  const bool has_v1_controllers = absl::c_any_of(
      found.v1, [](const CgroupHierarchy& hierarchy) { return !hierarchy.controllers.empty(); });
  if (found.v2 != nullptr && (found.v2_is_root || !has_v1_controllers)) {
    return std::make_unique<CgroupV2>(std::move(found.v2));
  }
  if (has_v1_controllers) {
    return std::make_unique<CgroupV1>(std::move(found.v1), std::move(found.v2));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("no cgroup hierarchy is mounted below ", root.PathOf(kCgroupRoot),
                   "; mount one, e.g. \"mount -t cgroup2 none /sys/fs/cgroup\""));
}

}  // namespace plimsoll::linux
