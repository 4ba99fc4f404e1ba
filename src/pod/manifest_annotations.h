// The annotations of a manifest that Plimsoll reads, or was meant to.
#ifndef PLIMSOLL_POD_MANIFEST_ANNOTATIONS_H_
#define PLIMSOLL_POD_MANIFEST_ANNOTATIONS_H_

#include "pod/manifest.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

// Fails for a wrong value, or for a container that the pod does not have; notes what is nearly the
// name of one of ours, and what is read elsewhere. `metadata` is the manifest's node, of any type.
void CheckAnnotations(YamlReader& reader, const YAML::Node& metadata, const Manifest& pod);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_MANIFEST_ANNOTATIONS_H_
