// The annotations of a manifest that Plimsoll reads, or was meant to.
#ifndef PLIMSOLL_CLI_MANIFEST_ANNOTATIONS_H_
#define PLIMSOLL_CLI_MANIFEST_ANNOTATIONS_H_

#include "cli/manifest.h"
#include "yaml/reader.h"

namespace plimsoll::cli {

// Fails for a wrong value, or for a container that the pod does not have; notes what is nearly the
// name of one of ours, and what is read elsewhere. `metadata` is the manifest's node, of any type.
void CheckAnnotations(YamlReader& reader, const YAML::Node& metadata, const PodManifest& pod);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_MANIFEST_ANNOTATIONS_H_
