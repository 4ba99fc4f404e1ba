#include "image/registry/signature_policy.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "nlohmann/json.hpp"

namespace plimsoll::image {
namespace {

using Json = nlohmann::json;

// Discarded where skopeo's parser fails: a duplicate key, or a byte order mark.
Json ParseStrictly(absl::string_view text) {
  if (absl::StartsWith(text, "\xef\xbb\xbf")) return Json(Json::value_t::discarded);
  std::vector<std::set<std::string>> keys;  // of the open objects
  bool is_unambiguous = true;
  const auto look = [&](int /*depth*/, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      is_unambiguous &= keys.back().insert(value.get<std::string>()).second;
    }
    return true;
  };
  Json json = Json::parse(text.begin(), text.end(), look, /*allow_exceptions=*/false);
  return is_unambiguous ? std::move(json) : Json(Json::value_t::discarded);
}

bool AcceptAnything(const Json& requirements) {
  const Json anything = {{"type", "insecureAcceptAnything"}};
  return requirements.is_array() && !requirements.empty() &&
         absl::c_all_of(requirements,
                        [&](const Json& requirement) { return requirement == anything; });
}

// Distributions accept everything ("") of "docker-daemon", from which nothing is pulled.
bool IsOfNoRegistry(const std::string& transport, const Json& scopes) {
  return transport != "docker" && scopes.is_object() && scopes.size() == 1 && scopes.contains("") &&
         AcceptAnything(scopes[""]);
}

}  // namespace

bool AcceptsAnything(absl::string_view policy) {
  const Json json = ParseStrictly(policy);
  if (!json.is_object() || !json.contains("default")) return false;
  for (const auto& [key, value] : json.items()) {
    if (key == "default") {
      if (!AcceptAnything(value)) return false;
    } else if (key == "transports" && value.is_object()) {
      for (const auto& [transport, scopes] : value.items()) {
        if (!IsOfNoRegistry(transport, scopes)) return false;
      }
    } else {
      return false;
    }
  }
  return true;
}

absl::StatusOr<MachinePolicy> ReadMachinePolicy(const FsRoot& host) {
  const absl::StatusOr<std::string> policy = host.Read(kPolicyFile);
  if (absl::IsNotFound(policy.status())) return MachinePolicy::kNone;
  if (!policy.ok()) {
    // PERMISSION_DENIED would look like a registry's answer.
    return absl::Status(absl::IsResourceExhausted(policy.status())
                            ? absl::StatusCode::kResourceExhausted
                            : absl::StatusCode::kFailedPrecondition,
                        absl::StrCat("this machine's policy for images can't be read: ",
                                     policy.status().message()));
  }
  return AcceptsAnything(*policy) ? MachinePolicy::kAcceptsAnything : MachinePolicy::kRestricts;
}

}  // namespace plimsoll::image
