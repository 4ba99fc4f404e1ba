// The body of PATCH .../pods/{name}/resize.
#ifndef PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_PATCH_H_
#define PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_PATCH_H_

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"

namespace plimsoll::agent {

// The object with the patch's resources: those of named containers and of the pod. Amounts that the
// patch doesn't name stay; null takes one away. INVALID_ARGUMENT: the patch has no resources, has
// another field than these, or names a container that the pod doesn't have.
absl::StatusOr<nlohmann::json> ResizedObject(const nlohmann::json& object,
                                             const nlohmann::json& patch);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RESIZING_RESIZE_PATCH_H_
