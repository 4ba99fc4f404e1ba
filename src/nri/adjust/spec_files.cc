// Mounts and devices.
#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text/normal_path.h"
#include "base/text/quoted.h"
#include "nri/adjust/overlay.h"
#include "nri/adjust/spec_parts.h"
#include "runtime/spec/paths.h"

namespace plimsoll::nri {
namespace {

// Each container has these, whatever its client asks for (runtime/oci/spec_mounts.cc).
constexpr absl::string_view kStandardMounts[] = {
    "/proc",          "/dev",     "/dev/pts",   "/dev/mqueue",   "/sys",
    "/sys/fs/cgroup", "/dev/shm", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf"};
// These, too: the OCI runtime makes them (OCI runtime specification, "Default Devices").
constexpr absl::string_view kStandardDevices[] = {"/dev/null",    "/dev/zero",    "/dev/full",
                                                  "/dev/random",  "/dev/urandom", "/dev/tty",
                                                  "/dev/console", "/dev/ptmx"};

template <typename List, typename Predicate>
void EraseIf(Predicate leaves, List* list) {
  list->erase(std::remove_if(list->begin(), list->end(), leaves), list->end());
}

absl::Status RemoveMount(const std::string& destination, const SpecTarget& target) {
  if (absl::c_linear_search(kStandardMounts, destination)) {
    return target.Impossible("mounts", destination,
                             "can't be removed: every container has it. A mount of the plugin's "
                             "at the same place replaces it");
  }
  EraseIf(
      [&](const runtime::Mount& mount) {
        return runtime::CleanPath(mount.container_path) == destination;
      },
      &target.spec().mounts);
  return absl::OkStatus();
}

bool Binds(const api::Mount& mount) {
  return mount.type().empty() || mount.type() == "bind" ||
         absl::c_linear_search(mount.options(), "bind") ||
         absl::c_linear_search(mount.options(), "rbind");
}

absl::Status ApplyMount(const api::Mount& mount, const SpecTarget& target) {
  absl::string_view written = mount.destination();
  const bool is_removal = TakeRemovalMark(&written);
  const std::string destination = runtime::CleanPath(written);
  if (!IsAbsolutePath(destination) || NormalPath(destination) == "/") {
    return target.Wrong("mounts", written,
                        "is no place for a mount: an absolute path other than / is right");
  }
  if (is_removal) return RemoveMount(destination, target);
  if (Binds(mount) && !IsAbsolutePath(mount.source())) {
    return target.Wrong("mounts", written,
                        absl::StrCat("has the source ", Quoted(mount.source()),
                                     "; of a bind mount, that must be an absolute path"));
  }
  if (absl::c_linear_search(mount.options(), "relabel")) {
    return target.Unsupported("mounts", written,
                              "has the option relabel; the plugin must label the source itself");
  }
  EraseIf(
      [&](const runtime::Mount& present) {
        return runtime::CleanPath(present.container_path) == destination;
      },
      &target.spec().mounts);
  target.spec().extras.edits.mounts.push_back(
      {.host_path = mount.source(),
       .container_path = destination,
       .type = mount.type(),
       .options = {mount.options().begin(), mount.options().end()}});
  return absl::OkStatus();
}

absl::Status RemoveDevice(const std::string& path, const SpecTarget& target) {
  const auto impossible = [&](absl::string_view why) {
    return target.Impossible("linux.devices", path, absl::StrCat("can't be removed: ", why));
  };
  if (absl::c_linear_search(kStandardDevices, path)) return impossible("every container has it");
  if (target.spec().security.privileged) {
    return impossible("the container is privileged and has all devices of the host");
  }
  std::vector<runtime::DeviceMapping>& devices = target.spec().devices;
  for (const runtime::DeviceMapping& device : devices) {
    const std::string directory = runtime::CleanPath(device.container_path);
    if (absl::StartsWith(path, absl::StrCat(directory, "/"))) {
      return impossible(absl::StrCat("the container asks for all devices below ", directory));
    }
  }
  EraseIf(
      [&](const runtime::DeviceMapping& device) {
        return runtime::CleanPath(device.container_path) == path;
      },
      &devices);
  return absl::OkStatus();
}

absl::Status CheckNumbers(const api::LinuxDevice& device, const SpecTarget& target) {
  const auto wrong = [&](absl::string_view why) {
    return target.Wrong("linux.devices", device.path(), why);
  };
  static constexpr absl::string_view kTypes[] = {"b", "c", "u", "p"};
  if (!absl::c_linear_search(kTypes, device.type())) {
    return wrong(absl::StrCat("has the type ", Quoted(device.type()), "; valid are b, c, u and p"));
  }
  // A dev_t has 12 and 20 bits.
  if (device.major() < 0 || device.major() > 0xfff || device.minor() < 0 ||
      device.minor() > 0xfffff) {
    return wrong(absl::StrCat("has the numbers ", device.major(), ":", device.minor(),
                              "; 0:0 to 4095:1048575 are possible"));
  }
  // Plugins copy st_mode with its file type bits.
  if (device.file_mode().value() > 0177777) return wrong("has a file_mode that is no file's");
  return absl::OkStatus();
}

// Whether a rule of the device cgroup is about a node. To the kernel "u" is another word for "c".
bool IsAbout(const api::LinuxDeviceCgroup& rule, const api::LinuxDevice& device) {
  const std::string kind = device.type() == "b" ? "b" : "c";
  return rule.type() == kind && rule.has_major() && rule.has_minor() &&
         rule.major().value() == device.major() && rule.minor().value() == device.minor();
}

// Returns some of "rwm". Without a rule of the plugin's, like other runtimes: the mode says it, and
// a block device may be made again.
std::string Permissions(const api::LinuxDevice& device,
                        const api::LinuxContainerAdjustment& linux) {
  for (const api::LinuxDeviceCgroup& rule : linux.resources().devices()) {
    if (IsAbout(rule, device)) return rule.access();
  }
  return device.type() == "b" ? "rwm" : "rw";
}

absl::Status ApplyDevice(const api::LinuxDevice& device, const api::LinuxContainerAdjustment& linux,
                         const SpecTarget& target) {
  absl::string_view written = device.path();
  const bool is_removal = TakeRemovalMark(&written);
  const std::string path = runtime::CleanPath(written);
  if (!IsAbsolutePath(path) || path == "/") {
    return target.Wrong("linux.devices", written, "is no absolute path to a device");
  }
  if (is_removal) return RemoveDevice(path, target);
  PLIMSOLL_RETURN_IF_ERROR(CheckNumbers(device, target));
  EraseIf(
      [&](const runtime::DeviceMapping& present) {
        return runtime::CleanPath(present.container_path) == path;
      },
      &target.spec().devices);
  cdi::DeviceNode node{.path = path, .type = device.type()};
  if (device.type() != "p") {
    node.major = device.major();
    node.minor = device.minor();
    node.permissions = Permissions(device, linux);
  }
  if (device.has_file_mode()) node.file_mode = device.file_mode().value() & 07777;
  if (device.has_uid()) node.uid = device.uid().value();
  if (device.has_gid()) node.gid = device.gid().value();
  target.spec().extras.edits.device_nodes.push_back(std::move(node));
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyFiles(const api::ContainerAdjustment& adjustment, const SpecTarget& target) {
  for (const api::Mount& mount : adjustment.mounts()) {
    PLIMSOLL_RETURN_IF_ERROR(ApplyMount(mount, target));
  }
  const api::LinuxContainerAdjustment& linux = adjustment.linux();
  for (const api::LinuxDevice& device : linux.devices()) {
    PLIMSOLL_RETURN_IF_ERROR(ApplyDevice(device, linux, target));
  }
  return absl::OkStatus();
}

absl::Status CheckDeviceRule(const api::LinuxDeviceCgroup& rule,
                             const api::LinuxContainerAdjustment& linux, const SpecTarget& target) {
  constexpr absl::string_view kPath = "linux.resources.devices";
  const std::string key = RuleKey(rule);
  if (!rule.allow()) {
    return target.Unsupported(kPath, key,
                              "forbids a device; a device that the container shall not have is "
                              "removed in linux.devices");
  }
  if (rule.access().empty() || rule.access().find_first_not_of("rwm") != std::string::npos) {
    return target.Wrong(
        kPath, key,
        absl::StrCat("has the access ", Quoted(rule.access()), "; letters of \"rwm\" are right"));
  }
  const auto is_about = [&](const api::LinuxDevice& device) { return IsAbout(rule, device); };
  if (absl::c_any_of(linux.devices(), is_about)) return absl::OkStatus();
  return target.Unsupported(kPath, key,
                            "allows a device that linux.devices has not; a device in "
                            "linux.devices brings its rule");
}

}  // namespace plimsoll::nri
