// The annotations that Plimsoll reads, and those of older Kubernetes that must not be passed over.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_ANNOTATIONS_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_ANNOTATIONS_H_

#include "pod_runner/manifest/manifest.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

// Fails for a wrong value, and for a container that the pod doesn't have. Notes a misspelt name,
// and an annotation that another place of the manifest replaces. Puts a seccomp or AppArmor profile
// of an annotation where the field would be, and fails if the field says another. Fails for
// annotations that gave a pod its sysctls or init containers once: without them it would not be the
// pod that was meant. On record an annotation of Kubernetes' own is no failure: it is passed over,
// and the field goes before it. `metadata` is the manifest's node, of any type.
void ReadAnnotations(YamlReader& reader, const YAML::Node& metadata, Manifest& pod);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_ANNOTATIONS_H_
