// Logins of this machine's user at registries, as `skopeo login`, `podman login` and `docker login`
// keep them: in files (containers-auth.json(5), Docker's config.json) and with credential helpers.
#ifndef PLIMSOLL_POD_RUNNER_PULLS_LOGINS_H_
#define PLIMSOLL_POD_RUNNER_PULLS_LOGINS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "pod_runner/pulls/registry_auth.h"

namespace plimsoll::pod {

// A credential helper may ask its user something, or hang.
inline constexpr absl::Duration kHelperTimeout = absl::Seconds(30);

struct Login {
  RegistryLogin credentials;
  std::string source;  // "/root/.docker/config.json", with the helper's name if one was asked
};

// The login for the image in one file, or from the helpers that the file names. A helper is the
// program docker-credential-NAME of PATH; it runs with this process's environment, gets `get` as
// argument and the server on its standard input, and is killed at `helper_timeout`. NOT_FOUND:
// there is no such file, or no login in it. INVALID_ARGUMENT: the file is malformed. Else the
// helper failed. No error has a secret in it.
absl::StatusOr<Login> ReadLogin(const std::string& file, absl::string_view reference,
                                absl::Duration helper_timeout = kHelperTimeout);

// The files where this process's user keeps logins, in the order to look. REGISTRY_AUTH_FILE names
// one that is the only one.
std::vector<std::string> LoginFiles();

// A look through several files.
struct LoginSearch {
  std::optional<Login> login;
  std::vector<std::string> without;  // files that are there and have none for the image
  std::vector<std::string> missing;  // files that aren't there
  std::vector<std::string> failed;   // one sentence for each file or helper that failed

  // For an error about a refused pull: whose login was used, or which files have none.
  std::string InWords(absl::string_view reference) const;
};

// The first login for the image in these files. A file that fails is passed over.
LoginSearch FindLogin(const std::vector<std::string>& files, absl::string_view reference,
                      absl::Duration helper_timeout = kHelperTimeout);

// The registry of the image, to which alone its login may go; "docker.io" for a short name.
std::string RegistryOf(absl::string_view reference);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_PULLS_LOGINS_H_
