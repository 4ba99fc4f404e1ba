// One container of a pod's manifest, by its name.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_CONTAINER_MANIFEST_H_
#define PLIMSOLL_AGENT_PODS_LIFE_CONTAINER_MANIFEST_H_

#include <algorithm>

#include "absl/strings/string_view.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// Null: the manifest has none of the name. Else a part of `pod`.
inline const pod::ContainerManifest* ContainerManifestOf(const pod::Manifest& pod,
                                                         absl::string_view name) {
  const auto it = std::find_if(pod.containers.begin(), pod.containers.end(),
                               [name](const auto& each) { return each.name == name; });
  return it == pod.containers.end() ? nullptr : &*it;
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_CONTAINER_MANIFEST_H_
