// Checks of the annotations that Plimsoll reads.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_ANNOTATIONS_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_ANNOTATIONS_H_

#include "pod_runner/manifest.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

// Fails for a wrong value, and for a container that the pod doesn't have. Notes a misspelt name,
// and an annotation that another place of the manifest replaces. `metadata` is the manifest's node,
// of any type.
void CheckAnnotations(YamlReader& reader, const YAML::Node& metadata, const Manifest& pod);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_ANNOTATIONS_H_
