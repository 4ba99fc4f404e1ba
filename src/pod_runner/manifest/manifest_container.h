// The containers of a pod manifest. Used by manifest_spec.cc only.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_CONTAINER_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_CONTAINER_H_

#include <string>
#include <vector>

#include "pod_runner/manifest/manifest.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

// `init`: the node is an element of initContainers. Adds to `left_to_agent` as Manifest says.
ContainerManifest ReadContainer(YamlReader& reader, const YAML::Node& node, const std::string& path,
                                bool init, std::vector<std::string>& left_to_agent);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_CONTAINER_H_
