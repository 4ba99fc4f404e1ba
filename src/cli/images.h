// Getting images there before a pod starts.
#ifndef PLIMSOLL_CLI_IMAGES_H_
#define PLIMSOLL_CLI_IMAGES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/api.h"
#include "pod/client.h"
#include "pod/manifest.h"

namespace plimsoll::cli {

// What to do about a pull that has failed so; empty: nothing is known to help.
std::string PullHint(absl::StatusCode code, const std::string& reference);

// Pulls with a progress bar on standard error.
absl::StatusOr<node::ImageProgress::Done> PullWithProgress(pod::Client& client,
                                                           const std::string& reference,
                                                           const cri::AuthConfig& auth);

// Prints a note when the image, named by id or name, says that it is for another kind of processor
// than this machine has.
void NoteForeignArchitecture(pod::Client& client, const std::string& reference);

// Every image of the pod, by each container's pull policy; and that no container which must not run
// as root would. NOT_FOUND for a missing image under policy Never.
absl::Status EnsureImages(pod::Client& client, const pod::Manifest& pod);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_IMAGES_H_
