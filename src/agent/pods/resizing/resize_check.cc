#include "agent/pods/resizing/resize_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "agent/pods/allocation/node_room.h"
#include "base/status.h"
#include "pod_runner/cri_requests/pod_level.h"

namespace plimsoll::agent {
namespace {

using resources::Requirements;
using resources::ResourceList;
using Role = resources::ContainerRequirements::Role;

absl::Status Invalid(const pod::Manifest& pod, const std::string& field,
                     absl::string_view message) {
  return absl::InvalidArgumentError(
      absl::StrCat("Pod \"", pod.name, "\" is invalid: ", field, ": ", message));
}

// `kind`: "requests", "limits".
absl::Status CheckNoneGoes(const pod::Manifest& pod, const std::string& path,
                           const std::string& kind, const ResourceList& before,
                           const ResourceList& after) {
  for (const auto& [name, amount] : before) {
    const auto it = after.find(name);
    // A limit of 0 is none.
    const bool ends = kind == "limits" && it != after.end() && it->second.IsZero();
    if (it != after.end() && (!ends || amount.IsZero())) continue;
    return Invalid(pod, absl::StrCat(path, ".", kind),
                   absl::StrCat("Forbidden: resource ", kind, " cannot be removed: ", name, " was ",
                                amount.text()));
  }
  return absl::OkStatus();
}

absl::Status CheckAmounts(const pod::Manifest& pod, const std::string& path,
                          const Requirements& before, const Requirements& after) {
  PLIMSOLL_RETURN_IF_ERROR(CheckNoneGoes(pod, path, "requests", before.requests, after.requests));
  return CheckNoneGoes(pod, path, "limits", before.limits, after.limits);
}

// Where the manifest has the container's resources. Sidecars are init containers.
std::string PathOf(const pod::ContainerManifest& container) {
  return absl::StrCat("spec.", container.role == Role::kContainer ? "containers" : "initContainers",
                      "[", container.name, "].resources");
}

bool Differs(const Requirements& before, const Requirements& after, const std::string& resource) {
  const auto same = [&](const ResourceList& one, const ResourceList& other) {
    const auto a = one.find(resource), b = other.find(resource);
    const bool has_a = a != one.end(), has_b = b != other.end();
    return has_a == has_b && (!has_a || a->second == b->second);
  };
  return !same(before.requests, after.requests) || !same(before.limits, after.limits);
}

}  // namespace

bool RestartsFor(const pod::ContainerManifest& container, const std::string& resource) {
  return std::any_of(container.resize_policy.begin(), container.resize_policy.end(),
                     [&](const pod::ResizePolicy& policy) {
                       return policy.resource == resource &&
                              policy.restart_policy == "RestartContainer";
                     });
}

absl::Status CheckResize(const pod::Manifest& before, const pod::Manifest& after) {
  if (pod::QosClassOf(before) != pod::QosClassOf(after)) {
    return Invalid(
        after, "metadata",
        absl::StrCat("Invalid value: \"", resources::QosClassName(pod::QosClassOf(after)),
                     "\": Pod QOS Class may not change as a result of resizing: it is ",
                     resources::QosClassName(pod::QosClassOf(before))));
  }
  for (size_t i = 0; i < before.containers.size() && i < after.containers.size(); ++i) {
    const pod::ContainerManifest& container = after.containers[i];
    const std::string path = PathOf(container);
    const Requirements& was = before.containers[i].resources;
    PLIMSOLL_RETURN_IF_ERROR(CheckAmounts(after, path, was, container.resources));
    for (const char* resource : {"cpu", "memory"}) {
      if (after.restart_policy != "Never" || container.role == Role::kSidecar ||
          !RestartsFor(container, resource) || !Differs(was, container.resources, resource)) {
        continue;
      }
      return Invalid(after, path,
                     absl::StrCat("Forbidden: a change of ", resource,
                                  " restarts the container (resizePolicy), and the pod's "
                                  "restartPolicy is Never"));
    }
  }
  return CheckAmounts(after, "spec.resources", before.resources.value_or(Requirements()),
                      after.resources.value_or(Requirements()));
}

bool NeedsRoom(const pod::Manifest& before, const pod::Manifest& after) {
  const ResourceList had = RequestsOf(before);
  const ResourceList wants = RequestsOf(after);
  return std::any_of(wants.begin(), wants.end(), [&](const auto& want) {
    const auto it = had.find(want.first);
    return it == had.end() ? !want.second.IsZero() : want.second > it->second;
  });
}

}  // namespace plimsoll::agent
