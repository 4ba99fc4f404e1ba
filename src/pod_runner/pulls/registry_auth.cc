#include "pod_runner/pulls/registry_auth.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "image/names/reference.h"

namespace plimsoll::pod {
namespace {

// The registry, or the start of an image's full name, that an entry's key stands for. Docker writes
// URLs, of which only the host counts, and calls its own registry "https://index.docker.io/v1/".
std::string NameOfKey(absl::string_view key) {
  absl::string_view name = key;
  if (absl::ConsumePrefix(&name, "https://") || absl::ConsumePrefix(&name, "http://")) {
    name = name.substr(0, name.find('/'));
  }
  const absl::string_view host = name.substr(0, name.find('/'));
  if (host != "index.docker.io" && host != "registry-1.docker.io") return std::string(name);
  return absl::StrCat("docker.io", name.substr(host.size()));
}

// nullopt: the file doesn't hold the credentials; a credential helper may.
std::optional<RegistryLogin> Decode(const nlohmann::json& entry) {
  if (!entry.is_object()) return std::nullopt;
  const auto text = [&entry](const char* key) {
    return entry.contains(key) && entry[key].is_string() ? entry[key].get<std::string>() : "";
  };
  RegistryLogin credentials{.identity_token = text("identitytoken")};
  std::string plain;
  const bool decoded = absl::Base64Unescape(text("auth"), &plain);
  if (const size_t colon = plain.find(':'); decoded && colon != std::string::npos) {
    credentials.user = plain.substr(0, colon);
    credentials.password = plain.substr(colon + 1);
  } else if (credentials.identity_token.empty()) {
    return std::nullopt;
  }
  return credentials;
}

// True for the key of the image's repository, of a namespace above it or of its registry.
bool IsFor(absl::string_view name, const image::Reference& image) {
  return image.Name() == name || absl::StartsWith(image.Name(), absl::StrCat(name, "/"));
}

// A helper's program is looked for in PATH, so its name must not lead elsewhere.
bool IsHelperName(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           absl::StrContains("-_.", absl::string_view(&c, 1));
  });
}

absl::Status AddHelper(const nlohmann::json& name, absl::string_view key, absl::string_view path,
                       std::vector<HelperCall>* calls) {
  if (name.is_string() && name.get_ref<const std::string&>().empty()) return absl::OkStatus();
  if (!name.is_string() || !IsHelperName(name.get_ref<const std::string&>())) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", name.dump(-1, ' ', true), " is no name of a credential helper: ",
                     "expected \"NAME\" of a program docker-credential-NAME"));
  }
  const std::string program = absl::StrCat("docker-credential-", name.get<std::string>());
  // Docker's command line stores the login of its own registry under an address.
  if (NameOfKey(key) == "docker.io") {
    calls->push_back({program, "https://index.docker.io/v1/"});
    calls->push_back({program, "docker.io"});
  } else {
    calls->push_back({program, std::string(key)});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RegistryLogin> FindCredentials(absl::string_view json, absl::string_view path,
                                              absl::string_view reference) {
  PLIMSOLL_ASSIGN_OR_RETURN(const image::Reference image, image::ParseReference(reference));
  const auto file = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object() || !file.contains("auths") || !file["auths"].is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no \"auths\" object in it"));
  }
  std::optional<RegistryLogin> best;
  size_t best_size = 0;
  for (const auto& [key, entry] : file["auths"].items()) {
    const std::string name = NameOfKey(key);
    if (!IsFor(name, image)) continue;
    std::optional<RegistryLogin> credentials = Decode(entry);
    if (!credentials || name.size() <= best_size) continue;
    best = std::move(credentials);
    best_size = name.size();
  }
  if (best) return *std::move(best);
  return absl::NotFoundError(absl::StrCat(path, ": no user and password for ", image.Name(),
                                          " or its registry ", image.registry,
                                          " (credential helpers are not asked)"));
}

absl::StatusOr<std::vector<HelperCall>> HelpersFor(absl::string_view json, absl::string_view path,
                                                   absl::string_view reference) {
  PLIMSOLL_ASSIGN_OR_RETURN(const image::Reference image, image::ParseReference(reference));
  const auto file = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object()) return absl::InvalidArgumentError(absl::StrCat(path, ": no JSON object"));
  std::vector<HelperCall> calls;
  if (const auto helpers = file.find("credHelpers"); helpers != file.end()) {
    if (!helpers->is_object()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": credHelpers: expected an object of registries"));
    }
    std::string closest;
    for (const auto& [key, name] : helpers->items()) {
      if (!IsFor(NameOfKey(key), image)) continue;
      if (closest.empty() || NameOfKey(key).size() > NameOfKey(closest).size()) closest = key;
    }
    if (!closest.empty()) {
      PLIMSOLL_RETURN_IF_ERROR(AddHelper((*helpers)[closest], closest, path, &calls));
    }
  }
  if (const auto store = file.find("credsStore"); store != file.end()) {
    PLIMSOLL_RETURN_IF_ERROR(AddHelper(*store, image.registry, path, &calls));
  }
  return calls;
}

}  // namespace plimsoll::pod
