// The volumes of a pod manifest. Used by manifest_spec.cc only.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_VOLUMES_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_VOLUMES_H_

#include <string>

#include "pod_runner/manifest/volume_source.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

Volume ReadVolume(YamlReader& reader, const YAML::Node& node, const std::string& path);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_VOLUMES_H_
