// The volumes of a pod manifest. Used by manifest_spec.cc only.
#ifndef PLIMSOLL_POD_MANIFEST_VOLUMES_H_
#define PLIMSOLL_POD_MANIFEST_VOLUMES_H_

#include <string>
#include <vector>

#include "pod/volume_source.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

// Adds to `left_to_agent` as Manifest says.
Volume ReadVolume(YamlReader& reader, const YAML::Node& node, const std::string& path,
                  std::vector<std::string>& left_to_agent);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_MANIFEST_VOLUMES_H_
