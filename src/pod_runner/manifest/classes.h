// QoS classes that a manifest asks for (KEP-3008): by `resources.classes` and by annotations.
#ifndef PLIMSOLL_POD_RUNNER_MANIFEST_CLASSES_H_
#define PLIMSOLL_POD_RUNNER_MANIFEST_CLASSES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "pod_runner/manifest/manifest.h"
#include "qos/classes.h"

namespace plimsoll::pod {

// In `resources.classes`: the type's default class. The CRI has no such name: there a type without
// a class has its default.
inline constexpr char kDefaultClass[] = "system.default";
// True also for an empty class.
bool AsksForDefault(absl::string_view class_name);

// 1 to 63 letters, digits, "-", "_" and ".", a letter or digit at both ends (KEP-3008 "Pod Spec").
bool IsClassName(absl::string_view name);
// Likewise, perhaps behind a DNS name and "/".
bool IsClassTypeName(absl::string_view name);

// The classes of one container, of the field and of annotations in every spelling that a runtime
// may read (qos/annotations.h), whether it knows the type or not. The field decides first.
qos::ClassNames ContainerClasses(const Manifest& pod, const ContainerManifest& container);
// Likewise those of the pod as a whole, without pod-qos: that follows from requests and limits.
qos::ClassNames PodClasses(const Manifest& pod);

// The pod or one of its containers has `resources.classes`.
bool HasClassFields(const Manifest& pod);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_MANIFEST_CLASSES_H_
