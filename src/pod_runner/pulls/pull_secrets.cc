#include "pod_runner/pulls/pull_secrets.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace plimsoll::pod {
namespace {

const Object* FindSecret(const Manifest& pod, const ConfigObjects* objects,
                         const std::string& name) {
  return objects == nullptr ? nullptr : objects->Find(ObjectKind::kSecret, pod.pod_namespace, name);
}

// The Secret's config.json; INVALID_ARGUMENT: it has none.
absl::StatusOr<std::string> ConfigOf(const Object& secret, const std::string& name) {
  const auto config = secret.data.find(".dockerconfigjson");
  if (config != secret.data.end()) return config->second;
  // The older form has the entries alone.
  const auto entries = secret.data.find(".dockercfg");
  if (entries != secret.data.end()) return absl::StrCat("{\"auths\":", entries->second, "}");
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": no key .dockerconfigjson (type kubernetes.io/dockerconfigjson)"));
}

}  // namespace

absl::StatusOr<std::vector<RegistryLogin>> PullCredentials(const Manifest& pod,
                                                           const ConfigObjects* objects,
                                                           absl::string_view reference) {
  std::vector<RegistryLogin> all;
  for (const std::string& name : pod.pull_secrets) {
    const Object* secret = FindSecret(pod, objects, name);
    if (secret == nullptr) continue;
    const std::string full = NameOf(ObjectKind::kSecret, pod.pod_namespace, name);
    PLIMSOLL_ASSIGN_OR_RETURN(const std::string config, ConfigOf(*secret, full));
    absl::StatusOr<RegistryLogin> found = FindCredentials(config, full, reference);
    if (absl::IsNotFound(found.status())) continue;
    PLIMSOLL_RETURN_IF_ERROR(found.status());
    all.push_back(*std::move(found));
  }
  return all;
}

std::vector<std::string> MissingPullSecrets(const Manifest& pod, const ConfigObjects* objects) {
  std::vector<std::string> missing;
  for (const std::string& name : pod.pull_secrets) {
    if (FindSecret(pod, objects, name) == nullptr) missing.push_back(name);
  }
  return missing;
}

}  // namespace plimsoll::pod
