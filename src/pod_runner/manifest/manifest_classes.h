// `resources.classes` of a pod or a container. Used by the manifest's readers only.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_CLASSES_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_CLASSES_H_

#include <map>
#include <string>

#include "pod_runner/manifest/manifest.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

// The key "classes" of a ResourceRequirements: type to class. Fails for names that KEP-3008 doesn't
// permit.
std::map<std::string, std::string> ReadClasses(YamlReader& reader, YamlMapping& resources);

// Fails for an annotation that asks for another class than the field of the same container or pod.
// An annotation for all containers is a default, which a field replaces. `metadata` is the
// manifest's node, of any type.
void CheckClassAnnotations(YamlReader& reader, const YAML::Node& metadata, const Manifest& pod);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_CLASSES_H_
