#include "image/signature_policy.h"

#include <string>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "nlohmann/json.hpp"

namespace plimsoll::image {

bool AcceptsAnything(absl::string_view policy) {
  using Json = nlohmann::json;
  const Json json = Json::parse(policy.begin(), policy.end(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return false;
  // Distributions name others, of which nothing is pulled: "docker-daemon".
  const auto transports = json.find("transports");
  if (transports != json.end() && (!transports->is_object() || transports->contains("docker"))) {
    return false;
  }
  const auto requirements = json.find("default");
  if (requirements == json.end() || !requirements->is_array() || requirements->empty()) {
    return false;
  }
  const Json anything = {{"type", "insecureAcceptAnything"}};
  return absl::c_all_of(*requirements,
                        [&](const Json& requirement) { return requirement == anything; });
}

bool MachineAcceptsAnything() {
  const absl::StatusOr<FsRoot> root = FsRoot::Open("/");
  if (!root.ok()) return false;
  const absl::StatusOr<std::string> policy = root->Read(kPolicyFile);
  if (absl::IsNotFound(policy.status())) return true;
  return policy.ok() && AcceptsAnything(*policy);
}

}  // namespace plimsoll::image
