// Credentials for a registry, from a file.
#ifndef PLIMSOLL_POD_RUNNER_PULLS_REGISTRY_AUTH_H_
#define PLIMSOLL_POD_RUNNER_PULLS_REGISTRY_AUTH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::pod {

struct RegistryLogin {
  std::string user, password;
  std::string identity_token;  // in place of a password, from registries that issue one
};

// The credentials for the image `reference` in `json`, a containers-auth.json(5) or Docker
// config.json: the entry of its repository, else of the closest namespace above it, else of its
// registry. `path` names the file in errors. INVALID_ARGUMENT: the file or the reference is
// malformed. NOT_FOUND: there is no such entry; an entry of another registry is never taken.
absl::StatusOr<RegistryLogin> FindCredentials(absl::string_view json, absl::string_view path,
                                              absl::string_view reference);

// A question to a credential helper.
struct HelperCall {
  std::string program;  // "docker-credential-pass"
  std::string server;   // the key that it stores a login under
};

// The helpers that `json` names for the image, in the order to ask them: that of the closest entry
// of `credHelpers`, then `credsStore`. Docker Hub's login is stored under either of two keys.
// INVALID_ARGUMENT: the file or the reference is malformed, or a helper's name is no plain name.
absl::StatusOr<std::vector<HelperCall>> HelpersFor(absl::string_view json, absl::string_view path,
                                                   absl::string_view reference);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_PULLS_REGISTRY_AUTH_H_
