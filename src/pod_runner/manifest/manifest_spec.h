// The spec of a pod manifest. Used by manifest.cc only.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_SPEC_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_SPEC_H_

#include "pod_runner/manifest/manifest.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

void ReadSpec(YamlReader& reader, const YAML::Node& node, Manifest& pod);
// Checks references between fields.
void CheckReferences(YamlReader& reader, const YAML::Node& spec);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_SPEC_H_
