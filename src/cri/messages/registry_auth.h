// Registry credentials from the CRI's AuthConfig.
#ifndef PLIMSOLL_CRI_MESSAGES_REGISTRY_AUTH_H_
#define PLIMSOLL_CRI_MESSAGES_REGISTRY_AUTH_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "cri/runtime/v1/api.pb.h"
#include "image/image_service.h"

namespace plimsoll::cri {

// In order of precedence: identity_token, username and password, `auth` (base64 of
// "username:password"). An empty message means no credentials. A registry_token alone is
// UNIMPLEMENTED. A server_address that isn't the registry of `reference` is INVALID_ARGUMENT:
// credentials go nowhere but where they belong. No error holds a secret.
absl::StatusOr<image::Credentials> CredentialsFrom(const ::runtime::v1::AuthConfig& auth,
                                                   absl::string_view reference);

// The registry of an image reference, "docker.io" for short names: the part before the first "/"
// if it holds a "." or ":" or is "localhost".
std::string RegistryOf(absl::string_view reference);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_MESSAGES_REGISTRY_AUTH_H_
