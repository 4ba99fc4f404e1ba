// Keys of class annotations as CEL expressions, in the spellings and the order of
// qos/annotations.h.
#ifndef PLIMSOLL_KUBE_MANIFESTS_CLASS_ANNOTATIONS_H_
#define PLIMSOLL_KUBE_MANIFESTS_CLASS_ANNOTATIONS_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace plimsoll::kube {

// Whether the string `key` begins as a class annotation does.
std::string IsClassKey(absl::string_view key);
// Whether the class annotation `key` has a place that is read: "default", "container.NAME", ...
std::string HasKnownPlace(absl::string_view key);
// The type of the class annotation `key`.
std::string TypeOfKey(absl::string_view key);
// Keys that can name a container's class of a type; the first that is there decides. `name` is the
// container's name.
std::vector<std::string> ContainerKeysInCel(absl::string_view type, absl::string_view name);
// The key of a pod's class of a type; no expression.
std::string PodKey(absl::string_view type);
// Whether an annotation can name the type.
bool CanBeInKey(absl::string_view type);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_MANIFESTS_CLASS_ANNOTATIONS_H_
