// The container and securityContext parts of a pod manifest. Used by manifest.cc only.
#ifndef PLIMSOLL_POD_MANIFEST_CONTAINER_H_
#define PLIMSOLL_POD_MANIFEST_CONTAINER_H_

#include <string>

#include "pod/manifest.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

// `init`: the node is an element of initContainers.
ContainerManifest ReadContainer(YamlReader& reader, const YAML::Node& node, const std::string& path,
                                bool init);
PodSecurity ReadPodSecurity(YamlReader& reader, const YAML::Node& node, const std::string& path);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_MANIFEST_CONTAINER_H_
