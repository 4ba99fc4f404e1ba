#include "runtime/oci/spec_mounts.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "base/text/normal_path.h"
#include "linux/selinux.h"
#include "runtime/oci/mount_source.h"
#include "runtime/spec/paths.h"

namespace plimsoll::runtime {
namespace {

using Json = nlohmann::json;

Json Entry(const std::string& destination, const std::string& type, const std::string& source,
           Json options) {
  return {{"destination", destination},
          {"type", type},
          {"source", source},
          {"options", std::move(options)}};
}

Json Bind(const std::string& destination, const std::string& source, Json options) {
  return Entry(destination, "bind", source, std::move(options));
}

const char* PropagationOption(MountPropagation propagation) {
  switch (propagation) {
    case MountPropagation::kHostToContainer:
      return "rslave";
    case MountPropagation::kBidirectional:
      return "rshared";
    case MountPropagation::kPrivate:
      break;
  }
  return "rprivate";
}

absl::Status CheckMount(const SpecInput& input, const Mount& mount, const std::string& field) {
  if (!absl::StartsWith(mount.container_path, "/")) {
    return absl::InvalidArgumentError(absl::StrCat(
        field, ".container_path \"", mount.container_path, "\" must be an absolute path"));
  }
  if (mount.image.empty() && !absl::StartsWith(mount.host_path, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ".host_path \"", mount.host_path, "\" must be an absolute path"));
  }
  if (mount.propagation == MountPropagation::kBidirectional &&
      !input.request->spec->security.privileged) {
    return absl::InvalidArgumentError(absl::StrCat(
        field, ".propagation is bidirectional, and only a privileged container may have that"));
  }
  if (!mount.recursive_read_only) return absl::OkStatus();
  if (!mount.readonly || mount.propagation != MountPropagation::kPrivate) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, ".recursive_read_only needs readonly and private propagation"));
  }
  const std::string& program = input.request->program;
  if (input.machine->HasRecursiveReadOnly(program)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      field, ".recursive_read_only can't be had here: it needs Linux 5.12 and ",
      program.empty() ? "crun 1.4"
                      : absl::StrCat("an OCI runtime that lists the mount option rro, but ",
                                     program, " doesn't")));
}

// Relabels the source, so that the container may use the files there.
absl::Status RelabelSource(const SpecInput& input, const Mount& mount, const MountSource& source,
                           const std::string& field) {
  if (!mount.selinux_relabel || input.selinux.file.empty()) return absl::OkStatus();
  return Annotate(linux::Relabel(source.file, source.path, input.selinux.file),
                  absl::StrCat(field, ".selinux_relabel"));
}

absl::StatusOr<Json> ContainerMount(const SpecInput& input, size_t index,
                                    std::vector<HeldVolume>* volumes) {
  const Mount& mount = input.request->spec->mounts[index];
  const std::string field = absl::StrCat("mounts[", index, "]");
  PLIMSOLL_RETURN_IF_ERROR(CheckMount(input, mount, field));
  if (mount.image.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(const MountSource found, FindMountSource(*input.host, mount, field));
    PLIMSOLL_RETURN_IF_ERROR(RelabelSource(input, mount, found, field));
    absl::StatusOr<HeldVolume> volume = HoldVolume(found, absl::StrCat(index));
    if (!volume.ok()) return Annotate(volume.status(), absl::StrCat(field, ".host_path"));
    volume->map = IdsOf(*input.request, mount);
    volumes->push_back(*std::move(volume));
  }
  Json options = MountOptions(mount);
  if (!mount.image.empty() && !input.runs_image_volumes) options.push_back("noexec");
  return Bind(NormalPath(mount.container_path), StagedPath(input.stage_path, index),
              std::move(options));
}

// Whether the container is in this process's cgroup namespace, on cgroup v2.
bool SharesCgroupNamespace(const SpecInput& input) {
  if (input.machine->layout != linux::CgroupLayout::kV2) return false;
  const ContainerSpec& spec = *input.request->spec;
  const auto change = absl::c_find_if(
      spec.extras.namespaces, [](const NamespaceChange& each) { return each.type == "cgroup"; });
  if (change == spec.extras.namespaces.end()) return spec.security.privileged;
  if (change->of_host || change->path.empty()) return change->of_host;
  struct stat own = {};
  struct stat named = {};
  return stat("/proc/self/ns/cgroup", &own) == 0 && stat(change->path.c_str(), &named) == 0 &&
         own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

// Binds the machine's cgroup2 for a container in the machine's cgroup namespace. A new mount there
// would clear the machine's options (nsdelegate, memory_recursiveprot), which belong to the one
// superblock (Documentation/admin-guide/cgroup-v2.rst, "Mounting"): memory.min and memory.low would
// protect nobody until a reboot. In a namespace of its own the kernel ignores the options.
cdi::CdiMount BoundIfShared(const SpecInput& input, cdi::CdiMount standard) {
  if (standard.type != "cgroup" || !SharesCgroupNamespace(input)) return standard;
  standard.type = "bind";
  standard.host_path = input.host->PathOf("sys/fs/cgroup");
  standard.options.insert(standard.options.begin(), {"rbind", "rprivate"});
  return standard;
}

Json DeviceNode(const std::string& path, const struct stat& info) {
  return {{"path", path},
          {"type", S_ISBLK(info.st_mode) ? "b" : "c"},
          {"major", major(info.st_rdev)},
          {"minor", minor(info.st_rdev)},
          {"fileMode", info.st_mode & 07777},
          {"uid", info.st_uid},
          {"gid", info.st_gid}};
}

Json DeviceRule(const struct stat& info, const std::string& access) {
  return {{"allow", true},
          {"type", S_ISBLK(info.st_mode) ? "b" : "c"},
          {"major", major(info.st_rdev)},
          {"minor", minor(info.st_rdev)},
          {"access", access}};
}

bool IsDevice(const struct stat& info) {
  return S_ISBLK(info.st_mode) || S_ISCHR(info.st_mode);
}

// Whether the OCI runtime or the container's own mounts make this file in /dev.
bool IsMadeInContainer(absl::string_view name) {
  for (const absl::string_view made :
       {"null", "zero", "full", "random", "urandom", "tty", "console", "ptmx", "pts", "shm",
        "mqueue", "fd", "stdin", "stdout", "stderr", "core"}) {
    if (name == made) return true;
  }
  return false;
}

// Adds the device at `host_path`, or those in and below the directory there.
absl::Status AddDevice(const FsRoot& host, const std::string& host_path, const std::string& path,
                       const std::string& access, int depth, DeviceLists* lists) {
  PLIMSOLL_ASSIGN_OR_RETURN(const struct stat info, host.Stat(host_path));
  if (IsDevice(info)) {
    lists->nodes.push_back(DeviceNode(path, info));
    if (!access.empty()) lists->rules.push_back(DeviceRule(info, access));
    return absl::OkStatus();
  }
  if (!S_ISDIR(info.st_mode)) {
    if (depth > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(host_path, " is neither a device nor a directory"));
  }
  if (depth > 8) return absl::OkStatus();
  PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<std::string> names, host.List(host_path));
  for (const std::string& name : names) {
    if (path == "/dev" && IsMadeInContainer(name)) continue;
    // A device that vanished meanwhile, or a dangling link, is no reason to fail.
    AddDevice(host, absl::StrCat(host_path, "/", name), absl::StrCat(path, "/", name), access,
              depth + 1, lists)
        .IgnoreError();
  }
  return absl::OkStatus();
}

bool ArePermissions(absl::string_view text) {
  return !text.empty() && text.find_first_not_of("rwm") == absl::string_view::npos;
}

}  // namespace

absl::StatusOr<Json> BuildMounts(const SpecInput& input, std::vector<HeldVolume>* volumes) {
  const ContainerSpec& spec = *input.request->spec;
  std::vector<Json> own;
  for (size_t i = 0; i < spec.mounts.size(); ++i) {
    PLIMSOLL_ASSIGN_OR_RETURN(Json mount, ContainerMount(input, i, volumes));
    own.push_back(std::move(mount));
  }
  std::stable_sort(own.begin(), own.end(), [](const Json& a, const Json& b) {
    const auto depth = [](const Json& mount) {
      const std::string& path = mount["destination"].get_ref<const std::string&>();
      return path == "/" ? 0 : std::count(path.begin(), path.end(), '/');
    };
    return depth(a) < depth(b);
  });
  Json mounts = Json::array();
  for (const cdi::CdiMount& standard : StandardMounts(spec, input.request->sandbox)) {
    const bool replaced = std::any_of(own.begin(), own.end(), [&](const Json& mount) {
      return mount["destination"] == standard.container_path;
    });
    if (replaced) continue;
    const cdi::CdiMount made = BoundIfShared(input, standard);
    mounts.push_back(Entry(made.container_path, made.type, made.host_path, made.options));
  }
  for (Json& mount : own) mounts.push_back(std::move(mount));
  return mounts;
}

std::vector<cdi::CdiMount> StandardMounts(const ContainerSpec& spec, const SandboxPlace& sandbox) {
  // Shared memory is of an IPC namespace, so the segments that are files follow it.
  const auto ipc = absl::c_find_if(
      spec.extras.namespaces, [](const NamespaceChange& change) { return change.type == "ipc"; });
  const bool is_changed = ipc != spec.extras.namespaces.end();
  const bool host_ipc = sandbox.ipc_namespace.empty() || (is_changed && ipc->of_host);
  const bool own_ipc = is_changed && !ipc->of_host && ipc->path.empty();
  const std::string access = spec.security.privileged ? "rw" : "ro";
  std::vector<cdi::CdiMount> mounts;
  const auto add = [&](std::string destination, std::string type, std::string source,
                       std::vector<std::string> options) {
    mounts.push_back({.host_path = std::move(source),
                      .container_path = std::move(destination),
                      .type = std::move(type),
                      .options = std::move(options)});
  };
  add("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"});
  add("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"});
  add("/dev/pts", "devpts", "devpts",
      {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"});
  // Shows the queues of the process's IPC namespace, even the host's.
  add("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"});
  add("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", access});
  add("/sys/fs/cgroup", "cgroup", "cgroup", {"nosuid", "noexec", "nodev", "relatime", access});
  if (!own_ipc && (host_ipc || !sandbox.shm_directory.empty())) {
    add("/dev/shm", "bind", host_ipc ? "/dev/shm" : sandbox.shm_directory,
        {"rbind", "rprivate", "nosuid", "noexec", "nodev"});
  } else {
    add("/dev/shm", "tmpfs", "shm", {"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"});
  }
  const std::string rootfs_access = spec.security.readonly_rootfs ? "ro" : "rw";
  const std::pair<const char*, const std::string*> files[] = {
      {"/etc/hosts", &sandbox.etc_hosts},
      {"/etc/hostname", &sandbox.etc_hostname},
      {"/etc/resolv.conf", &sandbox.etc_resolv_conf}};
  for (const auto& [destination, source] : files) {
    if (!source->empty()) add(destination, "bind", *source, {"rbind", "rprivate", rootfs_access});
  }
  return mounts;
}

std::vector<std::string> MountOptions(const Mount& mount) {
  std::vector<std::string> options = {"rbind", PropagationOption(mount.propagation)};
  if (mount.recursive_read_only) options.push_back("rro");
  options.insert(options.end(), mount.mount_options.begin(), mount.mount_options.end());
  const bool is_image = !mount.image.empty();
  options.push_back(mount.readonly || is_image ? "ro" : "rw");
  // After the client's options: of two contradicting ones the last holds.
  if (is_image) options.insert(options.end(), {"nosuid", "nodev"});
  return options;
}

std::string RootPropagation(const ContainerSpec& spec) {
  std::string propagation = "private";
  for (const Mount& mount : spec.mounts) {
    if (mount.propagation == MountPropagation::kBidirectional) return "rshared";
    if (mount.propagation == MountPropagation::kHostToContainer) propagation = "rslave";
  }
  return propagation;
}

absl::StatusOr<DeviceLists> BuildDevices(const SpecInput& input) {
  const ContainerSpec& spec = *input.request->spec;
  DeviceLists lists{Json::array(), Json::array()};
  // In a user namespace, crun 1.8 makes nodes that belong to its root. A privileged container gets
  // only devices given by name there, else it would have the host's disks.
  const bool privileged = spec.security.privileged && input.request->sandbox.user_namespace.empty();
  // The OCI runtime itself adds rules for the devices that every container has (/dev/null ...).
  lists.rules.push_back({{"allow", privileged}, {"access", "rwm"}});
  if (privileged) {
    PLIMSOLL_RETURN_IF_ERROR(AddDevice(*input.host, "/dev", "/dev", "", 0, &lists));
  }
  for (size_t i = 0; i < spec.devices.size(); ++i) {
    const DeviceMapping& device = spec.devices[i];
    const std::string field = absl::StrCat("devices[", i, "]");
    if (!absl::StartsWith(device.container_path, "/") || !absl::StartsWith(device.host_path, "/")) {
      return absl::InvalidArgumentError(absl::StrCat(field, ": both paths must be absolute"));
    }
    const std::string access = device.permissions.empty() ? "rwm" : device.permissions;
    if (!ArePermissions(access)) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ".permissions is \"", access, "\"; must be made of r, w and m"));
    }
    const absl::Status added = AddDevice(*input.host, CleanPath(device.host_path),
                                         CleanPath(device.container_path), access, 0, &lists);
    if (!added.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(field, ".host_path: ", added.message()));
    }
  }
  return lists;
}

}  // namespace plimsoll::runtime
