// Images for `run`, `image pull` and `image import`.
#ifndef PLIMSOLL_CLI_IMAGES_H_
#define PLIMSOLL_CLI_IMAGES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/api.h"
#include "pod_runner/client.h"
#include "pod_runner/manifest.h"
#include "pod_runner/objects.h"

namespace plimsoll::cli {

// The hint for a pull that failed with this code; empty: no remedy is known.
std::string PullHint(absl::StatusCode code, const std::string& reference);

// Pulls with a progress bar on standard error.
absl::StatusOr<node::ImageProgress::Done> PullWithProgress(pod::Client& client,
                                                           const std::string& reference,
                                                           const cri::AuthConfig& auth);

// Prints a note when the image, named by id or name, is for another kind of processor than this
// machine's.
void NoteForeignArchitecture(pod::Client& client, const std::string& reference);

// Brings every image of the pod by its pull policy, and with the pod's imagePullSecrets. Returns
// the ids of the images of image volumes, by reference. `objects` may be null.
//
// NOT_FOUND: an image is missing under policy Never. FAILED_PRECONDITION: a container must not run
// as root, and would.
absl::StatusOr<std::map<std::string, std::string>> EnsureImages(pod::Client& client,
                                                                const pod::Manifest& pod,
                                                                const pod::Objects* objects);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_IMAGES_H_
