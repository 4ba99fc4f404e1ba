#include "runtime/oci/mount_targets.h"

#include <algorithm>
#include <array>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/normal_path.h"
#include "runtime/spec/paths.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

// Kernel files that lxcfs(1) and checkpointing tools replace with a container's view.
constexpr std::array<absl::string_view, 13> kReplaceable = {"/proc/cpuinfo",
                                                            "/proc/diskstats",
                                                            "/proc/loadavg",
                                                            "/proc/meminfo",
                                                            "/proc/pressure/cpu",
                                                            "/proc/pressure/io",
                                                            "/proc/pressure/memory",
                                                            "/proc/slabinfo",
                                                            "/proc/stat",
                                                            "/proc/swaps",
                                                            "/proc/sys/kernel/ns_last_pid",
                                                            "/proc/sys/crypto/fips_enabled",
                                                            "/proc/uptime"};

// Where the kernel forbids a new sysfs, in a user namespace, the OCI runtime binds the host's with
// these below it.
constexpr std::array<absl::string_view, 12> kOfSysfs = {
    "bpf",     "cgroup", "cgroup2",    "configfs",  "debugfs", "efivarfs",
    "fusectl", "pstore", "securityfs", "selinuxfs", "resctrl", "tracefs"};

// Nodes that every container has; in a user namespace they are bound.
constexpr std::array<absl::string_view, 7> kNodes = {"full", "null",    "ptmx", "random",
                                                     "tty",  "urandom", "zero"};

// Where a machine has its devices.
constexpr std::array<absl::string_view, 3> kOfDevices = {"devtmpfs", "tmpfs", "devpts"};

bool IsOfTheKernel(absl::string_view path) {
  return absl::c_any_of(std::array<absl::string_view, 3>{"/proc", "/sys", "/dev"},
                        [path](absl::string_view top) { return IsAtOrBelow(path, top); });
}

absl::Status AddMount(const Json& mount, MountTargets* targets) {
  const std::string path = NormalPath(mount["destination"].get<std::string>());
  if (IsAtOrBelow(path, "/proc") && path != "/proc" && !absl::c_linear_search(kReplaceable, path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a mount at ", path,
                     ": in /proc only procfs itself and the files that lxcfs replaces may be "
                     "mounted, as /proc/meminfo"));
  }
  targets->points.insert(path);
  const bool binds_tree =
      mount.contains("options") && absl::c_linear_search(mount["options"], Json("rbind"));
  if (binds_tree || mount.value("type", "") == "cgroup") targets->trees.push_back(path);
  return absl::OkStatus();
}

void AddPaths(const Json& paths, absl::flat_hash_set<std::string>* points) {
  for (const Json& path : paths) points->insert(NormalPath(path.get<std::string>()));
}

bool IsOfSysfs(absl::string_view type) {
  return type == "sysfs" || absl::c_linear_search(kOfSysfs, type);
}

// Whether a read-only path is bound onto itself: in /proc as part of procfs, in /sys as one of the
// kernel's file systems.
bool IsBoundOntoItself(const linux::MountInfo& mount) {
  if (IsAtOrBelow(mount.mount_point, "/proc")) return mount.fs_type == "proc";
  return !IsAtOrBelow(mount.mount_point, "/sys") || IsOfSysfs(mount.fs_type) ||
         mount.fs_type == "tmpfs";  // cgroup v1 has one above its hierarchies
}

bool IsNode(const linux::MountInfo& mount, absl::string_view name) {
  return absl::c_linear_search(kOfDevices, mount.fs_type) &&
         absl::EndsWith(mount.root, absl::StrCat("/", name));
}

// A container's terminal is at /dev/console.
bool IsNodeOfEveryContainer(const linux::MountInfo& mount) {
  absl::string_view name = mount.mount_point;
  if (!absl::ConsumePrefix(&name, "/dev/")) return false;
  if (name == "console") return mount.fs_type == "devpts" || IsNode(mount, name);
  return absl::c_linear_search(kNodes, name) && IsNode(mount, name);
}

// Later crun binds one empty directory of its own over all masked ones (containers/crun#1859).
bool IsMask(const linux::MountInfo& mount) {
  return (mount.fs_type == "tmpfs" && mount.root == "/") || IsNode(mount, "null") ||
         absl::EndsWith(mount.root, "/.empty-directory");
}

}  // namespace

absl::StatusOr<MountTargets> TargetsOf(const Json& spec) {
  MountTargets targets;
  for (const Json& mount : spec["mounts"]) {
    PLIMSOLL_RETURN_IF_ERROR(AddMount(mount, &targets));
  }
  const Json none = Json::array();
  const Json part = spec.value("linux", Json::object());
  AddPaths(part.value("maskedPaths", none), &targets.masked);
  AddPaths(part.value("readonlyPaths", none), &targets.read_only);
  if (spec.contains("hooks")) targets.trees.push_back("/proc/driver");
  for (const Json& device : part.value("devices", none)) {
    targets.points.insert(NormalPath(device["path"].get<std::string>()));
  }
  return targets;
}

absl::Status CheckArrived(const std::vector<linux::MountInfo>& mounts,
                          const MountTargets& targets) {
  for (const linux::MountInfo& mount : mounts) {
    const std::string& path = mount.mount_point;
    if (!IsOfTheKernel(path)) continue;
    if (path == "/proc" && mount.fs_type != "proc") {
      return absl::FailedPreconditionError(
          absl::StrCat("the file system at /proc is ", mount.fs_type, ", not procfs"));
    }
    if (targets.points.contains(path) || IsNodeOfEveryContainer(mount)) continue;
    if (targets.masked.contains(path) && IsMask(mount)) continue;
    if (targets.read_only.contains(path) && IsBoundOntoItself(mount)) continue;
    if (IsAtOrBelow(path, "/sys") && absl::c_linear_search(kOfSysfs, mount.fs_type)) continue;
    if (absl::c_any_of(targets.trees,
                       [&path](const std::string& tree) { return IsAtOrBelow(path, tree); })) {
      continue;
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "a mount (", mount.root, " of ", mount.fs_type, ") has arrived at ", path,
        ", where none was asked for: a symbolic link of the image, or of a volume, leads there"));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::runtime
