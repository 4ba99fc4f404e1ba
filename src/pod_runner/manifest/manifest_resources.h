// The resources of a pod or a container in a manifest. Used by the manifest's readers only.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_RESOURCES_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_RESOURCES_H_

#include <map>
#include <string>

#include "pod_runner/manifest/manifest.h"
#include "resources/requirements.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

// `classes` gets the key of that name.
resources::Requirements ReadResources(YamlReader& reader, const YAML::Node& node,
                                      const std::string& path,
                                      std::map<std::string, std::string>& classes);
// Reads the pod's own resources (KEP-2837) and classes, once its containers have been read: they
// must hold the sum of the containers' requests, and each container's limit.
void ReadPodResources(YamlReader& reader, YamlMapping& spec, Manifest& pod);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_RESOURCES_H_
