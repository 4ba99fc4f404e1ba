// Values of a pod's fields, of its containers' resources and of objects' keys, as variables and
// files have them (kubelet: pkg/fieldpath, pkg/api/v1/resource).
#ifndef PLIMSOLL_POD_RUNNER_CRI_REQUESTS_FIELDS_H_
#define PLIMSOLL_POD_RUNNER_CRI_REQUESTS_FIELDS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pod_runner/cri_requests/context.h"
#include "pod_runner/manifest/field_ref.h"
#include "pod_runner/manifest/manifest.h"

namespace plimsoll::pod {

// Empty for a label, an annotation or an address that the pod doesn't have. Whole maps are lines
// KEY="VALUE", sorted, without a last line break.
std::string FieldValue(const Manifest& pod, absl::string_view path, const PodContext& context);

// The amount divided by the divisor, rounded up. Without a limit it is the node's allocatable,
// without a request 0. `container` is the container whose variable this is, nullptr for a file's.
// INVALID_ARGUMENT: the named container is not there.
absl::StatusOr<std::string> ResourceValue(const Manifest& pod, const ContainerManifest* container,
                                          const ResourceField& field, const PodContext& context);

// nullopt: it is optional, and the object or its key is missing. NOT_FOUND names what is missing.
absl::StatusOr<std::optional<std::string>> ObjectValue(const Manifest& pod, const ObjectKey& key,
                                                       const PodContext& context);

// The object, or nullptr where it is missing and optional. NOT_FOUND names it.
absl::StatusOr<const Object*> FindObject(const Manifest& pod, ObjectKind kind,
                                         const std::string& name, bool optional,
                                         const PodContext& context);

// A variable or /etc/hosts has the pod's addresses: translate again once the sandbox has them.
bool NeedsPodIps(const Manifest& pod);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_CRI_REQUESTS_FIELDS_H_
