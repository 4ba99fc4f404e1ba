// The securityContext parts of a pod manifest. Used by the manifest's readers only.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_SECURITY_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_SECURITY_H_

#include <string>

#include "pod_runner/manifest/manifest.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

ContainerSecurity ReadContainerSecurity(YamlReader& reader, const YAML::Node& node,
                                        const std::string& path);
PodSecurity ReadPodSecurity(YamlReader& reader, const YAML::Node& node, const std::string& path);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_SECURITY_H_
