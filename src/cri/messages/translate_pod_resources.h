// Resources as the pod's author wrote them (KEP-4112): translates the CRI's messages to the
// runtime's types. runtime/announcement translates back.
#ifndef PLIMSOLL_CRI_MESSAGES_TRANSLATE_POD_RESOURCES_H_
#define PLIMSOLL_CRI_MESSAGES_TRANSLATE_POD_RESOURCES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cri/runtime/v1/api.pb.h"
#include "runtime/spec/pod_resources.h"

namespace plimsoll::cri {

inline constexpr char kPodResourcesAnnotation[] = "plimsoll.dev/pod-resources";

// INVALID_ARGUMENT names the error below `field`, as runtime::Validate does. Types that can't be
// true are added to `warnings`.
absl::StatusOr<runtime::PodResources> PodResourcesFrom(
    const ::runtime::v1::PodResourceConfig& config, absl::string_view field,
    std::vector<std::string>* warnings);
// A new sandbox's resources: the message's, else those of the annotation kPodResourcesAnnotation
// (JSON of the same shape, see docs/pass-down.md), else none.
absl::StatusOr<runtime::PodResources> PodResourcesOf(const ::runtime::v1::PodSandboxConfig& config,
                                                     std::vector<std::string>* warnings);
// Whether PodResourcesOf reads either, even an empty one: then nobody else is asked.
bool AnnouncesPodResources(const ::runtime::v1::PodSandboxConfig& config);
// The directory in which the pod's containers find its picture: annotation
// plimsoll.dev/pod-resources-mount, an absolute path and not "/"; empty without it.
absl::StatusOr<std::string> PictureDirectoryOf(const ::runtime::v1::PodSandboxConfig& config);
// For a message that is present.
absl::StatusOr<runtime::KubernetesResources> KubernetesResourcesFrom(
    const ::runtime::v1::KubernetesResources& message, absl::string_view field);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_TRANSLATE_POD_RESOURCES_H_
