// The images of a pod, before it starts.
#ifndef PLIMSOLL_POD_RUNNER_PULLS_IMAGES_H_
#define PLIMSOLL_POD_RUNNER_PULLS_IMAGES_H_

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::pod {

// An image that must be here before the pod starts.
struct NeededImage {
  std::string reference;
  std::string pull_policy;  // "Always", "Never", "IfNotPresent"
  std::string where;        // "container app", "volume data"
};

// The images of the containers, in their order, then those of image volumes.
std::vector<NeededImage> ImagesOf(const Manifest& pod);

// Brings images by their pull policies. "Always" pulls an image once, however often one PodImages
// is asked about it. Used by one thread.
class PodImages {
 public:
  // Pulls the image into the daemon.
  using Pull = std::function<absl::Status(const std::string& reference)>;

  // `client` outlives this.
  PodImages(Client& client, Pull pull) : client_(client), pull_(std::move(pull)) {}

  // The image, as the daemon has it.
  //
  // NOT_FOUND: the image is missing and the policy is Never. INTERNAL: a pull succeeded, and the
  // daemon has no such image. Else errors of the daemon's and of `pull`.
  absl::StatusOr<cri::Image> Ensure(const NeededImage& image);

 private:
  Client& client_;
  const Pull pull_;
  std::set<std::string> pulled_;
};

// FAILED_PRECONDITION: the container has runAsNonRoot, and neither manifest nor image name a user
// id other than root's. `image` is the container's.
absl::Status CheckNonRoot(const Manifest& pod, const ContainerManifest& container,
                          const cri::Image& image);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_PULLS_IMAGES_H_
