// The probes and hooks of a container in a pod manifest. Used by manifest_container.cc only.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_PROBES_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_PROBES_H_

#include <string>
#include <vector>

#include "pod_runner/manifest/manifest.h"
#include "yaml/reader.h"

namespace plimsoll::pod {

// Reads livenessProbe, readinessProbe, startupProbe and lifecycle. Ports have been read before: an
// action may name one of them. `has_probes`: false for an init container that isn't a sidecar.
void ReadProbes(YamlReader& reader, YamlMapping& mapping, bool has_probes,
                ContainerManifest& container, std::vector<std::string>& left_to_agent);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_MANIFEST_PROBES_H_
