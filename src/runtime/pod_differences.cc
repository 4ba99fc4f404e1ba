#include "runtime/pod_differences.h"

#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "resources/requirements.h"
#include "runtime/spec/paths.h"

namespace plimsoll::runtime {
namespace {

using Sentences = std::vector<std::string>;

// What is there, by container path, and how.
std::map<std::string, std::string> Mounts(const ContainerSpec& made) {
  std::map<std::string, std::string> mounts;
  for (const Mount& mount : made.mounts) {
    mounts[CleanPath(mount.container_path)] = mount.readonly ? "read-only" : "writable";
  }
  return mounts;
}

std::map<std::string, std::string> Mounts(const AnnouncedContainer& announced) {
  std::map<std::string, std::string> mounts;
  for (const Mount& mount : announced.mounts) {
    mounts[CleanPath(mount.container_path)] = mount.readonly ? "read-only" : "writable";
  }
  return mounts;
}

std::map<std::string, std::string> Devices(const std::vector<Device>& devices) {
  std::map<std::string, std::string> paths;
  for (const Device& device : devices) paths[CleanPath(device.container_path)] = "there";
  return paths;
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

// By name: what was announced, what is made.
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

std::vector<std::string> DifferencesOf(const ContainerSpec& made, const PodResources& now) {
  const auto known = absl::c_find_if(
      now.containers, [&](const AnnouncedContainer& each) { return each.name == made.name; });
  const AnnouncedContainer nothing;
  const AnnouncedContainer& announced = known == now.containers.end() ? nothing : *known;
  Sentences differences;
  if (!made.kubernetes_resources.empty()) {
    const resources::Requirements before = Meant(announced.kubernetes_resources);
    const resources::Requirements after = Meant(made.kubernetes_resources);
    Compare("request of", Amounts(before.requests), Amounts(after.requests), &differences);
    Compare("limit of", Amounts(before.limits), Amounts(after.limits), &differences);
  }
  Compare("mount at", Mounts(announced), Mounts(made), &differences);
  Compare("device at", Devices(announced.devices), Devices(made.devices), &differences);
  Compare("CDI device", CdiDevices(announced.cdi_devices), CdiDevices(made.cdi_devices),
          &differences);
  return differences;
}

}  // namespace plimsoll::runtime
