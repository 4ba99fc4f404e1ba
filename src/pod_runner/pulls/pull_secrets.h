// Credentials for pulls, from the pod's imagePullSecrets.
#ifndef PLIMSOLL_POD_RUNNER_PULLS_PULL_SECRETS_H_
#define PLIMSOLL_POD_RUNNER_PULLS_PULL_SECRETS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "pod_runner/manifest/manifest.h"
#include "pod_runner/manifest/objects.h"
#include "pod_runner/pulls/registry_auth.h"

namespace plimsoll::pod {

// Credentials for the image's registry, in the order in which kubelet tries them; none: the pull is
// anonymous. Secrets of type kubernetes.io/dockerconfigjson and dockercfg are read. A missing
// Secret is passed over, as by kubelet. INVALID_ARGUMENT names a malformed one. `objects` may be
// null.
absl::StatusOr<std::vector<RegistryLogin>> PullCredentials(const Manifest& pod,
                                                           const ConfigObjects* objects,
                                                           absl::string_view reference);

// Names in the pod's imagePullSecrets for which there is no Secret.
std::vector<std::string> MissingPullSecrets(const Manifest& pod, const ConfigObjects* objects);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_PULLS_PULL_SECRETS_H_
