#include "runtime/requests/pod_differences.h"

#include <algorithm>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "resources/requirements.h"
#include "runtime/spec/paths.h"

namespace plimsoll::runtime {
namespace {

using Sentences = std::vector<std::string>;

// The kind of each mount, by container path. An image is compared neither by name (clients may name
// a tag first and an id later) nor by its read-only flag.
std::map<std::string, std::string> Mounts(const std::vector<Mount>& all) {
  std::map<std::string, std::string> mounts;
  for (const Mount& mount : all) {
    mounts[CleanPath(mount.container_path)] = !mount.image.empty() ? "an image"
                                              : mount.readonly     ? "read-only"
                                                                   : "writable";
  }
  return mounts;
}

// "mrw" for "wrm".
std::string InOrder(std::string permissions) {
  absl::c_sort(permissions);
  return permissions;
}

// A device's path on the host, and its permissions if both devices name some: an annotation written
// by hand may leave the usual ones out.
std::string Described(const DeviceMapping& device, const DeviceMapping& like) {
  const std::string& host_path =
      device.host_path.empty() ? device.container_path : device.host_path;
  const std::string path = CleanPath(host_path);
  if (like.permissions.empty() || device.permissions.empty()) return path;
  return absl::StrCat(path, " (", InOrder(device.permissions), ")");
}

const DeviceMapping* DeviceAt(const std::vector<DeviceMapping>& devices, const std::string& path) {
  const auto found = absl::c_find_if(
      devices, [&](const DeviceMapping& each) { return CleanPath(each.container_path) == path; });
  return found == devices.end() ? nullptr : &*found;
}

// Describes each of `devices`, by container path, with its permissions if both lists name some.
std::map<std::string, std::string> Devices(const std::vector<DeviceMapping>& devices,
                                           const std::vector<DeviceMapping>& others) {
  std::map<std::string, std::string> described;
  for (const DeviceMapping& device : devices) {
    const std::string path = CleanPath(device.container_path);
    const DeviceMapping* other = DeviceAt(others, path);
    described[path] = Described(device, other == nullptr ? device : *other);
  }
  return described;
}

std::map<std::string, std::string> CdiDevices(const std::vector<std::string>& devices) {
  std::map<std::string, std::string> names;
  for (const std::string& device : devices) names[device] = "there";
  return names;
}

std::map<std::string, std::string> Amounts(const resources::ResourceList& list) {
  std::map<std::string, std::string> amounts;
  for (const auto& [name, amount] : list) amounts[name] = amount.Canonical();
  return amounts;
}

// Adds a sentence for each name that differs.
void Compare(const char* what, const std::map<std::string, std::string>& announced,
             const std::map<std::string, std::string>& made, Sentences* out) {
  for (const auto& [name, value] : announced) {
    const auto now = made.find(name);
    if (now == made.end()) {
      out->push_back(absl::StrCat(what, " ", name, " was announced and is not there"));
    } else if (now->second != value) {
      out->push_back(absl::StrCat(what, " ", name, " is ", now->second, ", announced was ", value));
    }
  }
  for (const auto& [name, value] : made) {
    if (!announced.contains(name)) {
      out->push_back(absl::StrCat(what, " ", name, " was not announced"));
    }
  }
}

resources::Requirements Meant(const KubernetesResources& written) {
  const auto parsed = ParseResources(written);
  return parsed.ok() ? resources::WithDefaults(*parsed) : resources::Requirements();
}

}  // namespace

bool IsUpdated(const SandboxSpec& pod, const ContainerSpec& last) {
  const auto announced = pod.announced.find(last.name);
  const uint64_t word = announced == pod.announced.end() ? 0 : announced->second.resources;
  if (last.said.made == 0) return !last.kubernetes_resources.empty() && word == 0;
  return last.said.resources > std::max(last.said.made, word);
}

AnnouncedContainer ExpectedOf(const SandboxSpec& pod, const std::string& name,
                              const ContainerSpec* last) {
  AnnouncedContainer expected;
  for (const AnnouncedContainer& each : pod.pod_resources.containers) {
    if (each.name == name) expected = each;
  }
  if (last != nullptr && IsUpdated(pod, *last)) {
    expected.kubernetes_resources = last->kubernetes_resources;
  }
  return expected;
}

std::vector<std::string> ResourceDifferencesOf(const ContainerSpec& made,
                                               const AnnouncedContainer& announced) {
  Sentences differences;
  if (made.kubernetes_resources.empty()) return differences;
  const resources::Requirements before = Meant(announced.kubernetes_resources);
  const resources::Requirements after = Meant(made.kubernetes_resources);
  Compare("request of", Amounts(before.requests), Amounts(after.requests), &differences);
  Compare("limit of", Amounts(before.limits), Amounts(after.limits), &differences);
  return differences;
}

std::vector<std::string> DifferencesOf(const ContainerSpec& made,
                                       const AnnouncedContainer& announced) {
  Sentences differences = ResourceDifferencesOf(made, announced);
  Compare("mount at", Mounts(announced.mounts), Mounts(made.mounts), &differences);
  Compare("device at", Devices(announced.devices, made.devices),
          Devices(made.devices, announced.devices), &differences);
  Compare("CDI device", CdiDevices(announced.cdi_devices), CdiDevices(made.cdi_devices),
          &differences);
  return differences;
}

}  // namespace plimsoll::runtime
