#include "kubelet/combine.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::kubelet {
namespace {

bool HasPluginDevices(const ToldGrants& grants) {
  return absl::c_any_of(grants, [](const auto& entry) { return !entry.second.devices.empty(); });
}

// Adds devices and CDI devices, once both sockets have answered.
void AddMissingDevices(const ToldPod& pod, const ToldGrants& grants,
                       std::vector<std::string>* missing) {
  constexpr char kDevices[] = "devices: ";
  constexpr char kCdiDevices[] = "CDI devices: ";
  if (HasPluginDevices(grants)) {
    missing->push_back(
        absl::StrCat(kDevices, "kubelet reports the ids of a device plugin's devices, no paths"));
    missing->push_back(absl::StrCat(kCdiDevices, "kubelet reports none of a device plugin's"));
  } else if (pod.has_block_volumes) {
    missing->push_back(absl::StrCat(kDevices, "kubelet reports no paths of block volumes"));
  }
  if (!pod.untold_devices.empty()) {
    const char* why = "kubelet reports none of init containers that aren't sidecars";
    missing->push_back(absl::StrCat(kDevices, why));
    missing->push_back(absl::StrCat(kCdiDevices, why));
  }
}

}  // namespace

absl::StatusOr<runtime::PodFacts> Combine(const absl::StatusOr<ToldPod>& pod,
                                          const absl::StatusOr<ToldGrants>& grants) {
  if (!pod.ok() && !grants.ok()) {
    const bool is_late =
        absl::IsDeadlineExceeded(pod.status()) || absl::IsDeadlineExceeded(grants.status());
    return absl::Status(
        is_late ? absl::StatusCode::kDeadlineExceeded : absl::StatusCode::kUnavailable,
        absl::StrCat("the Pods service: ", pod.status().message(),
                     "; PodResources: ", grants.status().message()));
  }
  runtime::PodFacts facts;
  if (pod.ok()) {
    facts.has_spec = true;
    facts.resources = pod->resources;
    facts.ephemeral = pod->ephemeral;
  } else {
    facts.missing.push_back(absl::StrCat(
        "containers, their types, requests and limits, and the pod's own: the Pods service: ",
        pod.status().message()));
  }
  facts.missing.push_back("mounts: kubelet reports no host paths");
  if (grants.ok()) {
    facts.has_grants = true;
    facts.grants = *grants;
  } else {
    facts.missing.push_back(
        absl::StrCat("devices and CDI devices: PodResources: ", grants.status().message()));
  }
  if (pod.ok() && grants.ok()) {
    AddMissingDevices(*pod, *grants, &facts.missing);
  } else if (grants.ok()) {
    facts.missing.push_back("devices and CDI devices of init containers that aren't sidecars");
    if (HasPluginDevices(*grants)) {
      facts.missing.push_back(
          "paths of a device plugin's devices: kubelet reports their ids alone");
    }
  }
  return facts;
}

}  // namespace plimsoll::kubelet
