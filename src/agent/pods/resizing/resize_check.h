// The rules for a resize in place: an API server's, of the pod alone.
#ifndef PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_CHECK_H_
#define PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::agent {

// INVALID_ARGUMENT in an API server's words: the pod's QoS class would change, a request or limit
// would go, or a container would have to restart in a pod that restarts none. The two manifests
// differ in what ChangeOf lets change.
absl::Status CheckResize(const pod::Manifest& before, const pod::Manifest& after);

// A resource of which the pod requests more than before: the node must have room for it.
bool NeedsRoom(const pod::Manifest& before, const pod::Manifest& after);

// A change of this resource restarts the container (resizePolicy).
bool RestartsFor(const pod::ContainerManifest& container, const std::string& resource);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_CHECK_H_
