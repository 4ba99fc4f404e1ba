#include "pod_runner/pulls/images.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "pod_runner/runtime_client/hint.h"

namespace plimsoll::pod {

std::vector<NeededImage> ImagesOf(const Manifest& pod) {
  std::vector<NeededImage> images;
  for (const ContainerManifest& container : pod.containers) {
    images.push_back(
        {container.image, container.pull_policy, absl::StrCat("container ", container.name)});
  }
  for (const Volume& volume : pod.volumes) {
    if (!volume.image) continue;
    images.push_back(
        {volume.image->reference, volume.image->pull_policy, absl::StrCat("volume ", volume.name)});
  }
  return images;
}

absl::StatusOr<cri::Image> PodImages::Ensure(const NeededImage& needed) {
  PLIMSOLL_ASSIGN_OR_RETURN(std::optional<cri::Image> image, client_.ImageStatus(needed.reference));
  const bool always = needed.pull_policy == "Always" && !pulled_.contains(needed.reference);
  if (image && !always) return *std::move(image);
  if (!image && needed.pull_policy == "Never") {
    return absl::NotFoundError(absl::StrCat(needed.where, ": image ", needed.reference,
                                            " is not here, and imagePullPolicy is Never"));
  }
  PLIMSOLL_RETURN_IF_ERROR(pull_(needed.reference));
  pulled_.insert(needed.reference);
  PLIMSOLL_ASSIGN_OR_RETURN(image, client_.ImageStatus(needed.reference));
  if (image) return *std::move(image);
  return absl::InternalError(
      absl::StrCat("image ", needed.reference, " was pulled and is not there"));
}

absl::Status CheckNonRoot(const Manifest& pod, const ContainerManifest& container,
                          const cri::Image& image) {
  const bool non_root =
      container.security.run_as_non_root.value_or(pod.security.run_as_non_root.value_or(false));
  if (!non_root || container.security.run_as_user || pod.security.run_as_user) {
    return absl::OkStatus();
  }
  // The image's user is a number, a name (with any number), or empty (root).
  if (image.has_uid() && image.uid().value() != 0) return absl::OkStatus();
  const std::string why =
      image.username().empty()
          ? "the image runs as root"
          : absl::StrCat("the image's user \"", image.username(), "\" is no number");
  return WithHint(absl::FailedPreconditionError(
                      absl::StrCat("container ", container.name, " has runAsNonRoot, but ", why)),
                  "Give it a runAsUser above 0.");
}

}  // namespace plimsoll::pod
