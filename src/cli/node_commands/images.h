// Images for `run`, `image pull` and `image import`.
#ifndef PLIMSOLL_CLI_NODE_COMMANDS_IMAGES_H_
#define PLIMSOLL_CLI_NODE_COMMANDS_IMAGES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/terminal/api.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/manifest/objects.h"
#include "pod_runner/pulls/logins.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::cli {

// The hint for a pull that failed with this code; empty: no remedy is known.
std::string PullHint(absl::StatusCode code, const std::string& reference);

// Credentials of one pull.
struct PullAuth {
  pod::RegistryLogin credentials;
  std::string origin;  // where they are from, or where none were found: for a refusal's hint
};

// The user's login for the image in the file of `--authfile`, or without one in the files of
// LoginFiles. Without a login the pull is anonymous, unless a file was named: then NOT_FOUND.
// Prints a note for a file of LoginFiles that fails.
absl::StatusOr<PullAuth> UserLogin(const std::string& auth_file, const std::string& reference);

// Pulls with a progress bar on standard error. The credentials go to the image's registry alone,
// for a short name to Docker's.
absl::StatusOr<node::ImageProgress::Done> PullWithProgress(pod::Client& client,
                                                           const std::string& reference,
                                                           const PullAuth& auth);

// Prints a note when the image, named by id or name, is for another kind of processor than this
// machine's.
void NoteForeignArchitecture(pod::Client& client, const std::string& reference);

// Brings every image of the pod by its pull policy: from a package's file (PackagedImageFile), with
// the pod's imagePullSecrets, then with UserLogin. Returns the ids of the images of image volumes,
// by reference. `objects` may be null.
//
// NOT_FOUND: an image is missing under policy Never. FAILED_PRECONDITION: a container must not run
// as root, and would.
absl::StatusOr<std::map<std::string, std::string>> EnsureImages(pod::Client& client,
                                                                const pod::Manifest& pod,
                                                                const pod::ConfigObjects* objects,
                                                                const std::string& auth_file);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_NODE_COMMANDS_IMAGES_H_
