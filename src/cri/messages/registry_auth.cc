#include "cri/messages/registry_auth.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status.h"
#include "cri/messages/validate.h"
#include "image/names/reference.h"

namespace plimsoll::cri {
namespace {

// "registry.local:5000" of "https://Registry.local:5000/v2/"; Docker Hub has several names.
std::string HostOf(absl::string_view address) {
  if (const size_t scheme = address.find("://"); scheme != absl::string_view::npos) {
    address.remove_prefix(scheme + 3);
  }
  std::string host = absl::AsciiStrToLower(address.substr(0, address.find('/')));
  if (host == "index.docker.io" || host == "registry-1.docker.io") return "docker.io";
  return host;
}

absl::Status DecodeAuth(const std::string& auth, image::Credentials* credentials) {
  std::string plain;
  size_t colon = std::string::npos;
  if (absl::Base64Unescape(auth, &plain)) colon = plain.find(':');
  if (colon == std::string::npos || colon == 0) {
    return absl::InvalidArgumentError(
        "auth.auth (not shown): must be base64 of \"username:password\"");
  }
  credentials->username = plain.substr(0, colon);
  // Docker's own files pad the text with NULs.
  credentials->password =
      std::string(absl::string_view(plain).substr(colon + 1, plain.find_last_not_of('\0') - colon));
  return absl::OkStatus();
}

}  // namespace

std::string RegistryOf(absl::string_view reference) {
  const size_t slash = reference.find('/');
  const absl::string_view first = reference.substr(0, slash);
  if (slash == absl::string_view::npos ||
      (first != "localhost" && first.find_first_of(".:") == absl::string_view::npos)) {
    return "docker.io";
  }
  return HostOf(first);
}

absl::StatusOr<image::Credentials> CredentialsFrom(const ::runtime::v1::AuthConfig& auth,
                                                   absl::string_view reference) {
  image::Credentials credentials;
  if (!auth.identity_token().empty()) {
    credentials.username = auth.username();
    credentials.identity_token = auth.identity_token();
  } else if (!auth.username().empty()) {
    credentials.username = auth.username();
    credentials.password = auth.password();
  } else if (!auth.auth().empty()) {
    PLIMSOLL_RETURN_IF_ERROR(DecodeAuth(auth.auth(), &credentials));
  } else if (!auth.registry_token().empty()) {
    return absl::UnimplementedError(
        "auth.registry_token is not supported: give auth.identity_token, or auth.username and "
        "auth.password");
  } else if (!auth.password().empty()) {
    return Invalid("auth.username", "", "must not be empty when auth.password is set");
  }
  if (credentials.empty() || auth.server_address().empty()) return credentials;
  credentials.registry = HostOf(auth.server_address());
  // A short name may be in any registry: the pull finds out which.
  if (image::IsShortName(reference)) return credentials;
  const std::string registry = RegistryOf(reference);
  if (credentials.registry != registry) {
    return Invalid("auth.server_address", auth.server_address(),
                   absl::StrCat("must be ", registry, ", the registry of ", reference));
  }
  return credentials;
}

}  // namespace plimsoll::cri
