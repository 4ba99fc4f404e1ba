// Contents of an address's files as they are now.
#ifndef PLIMSOLL_KUBE_APISERVER_CREDENTIALS_H_
#define PLIMSOLL_KUBE_APISERVER_CREDENTIALS_H_

#include <string>

#include "absl/status/statusor.h"
#include "kube/apiserver/server_address.h"

namespace plimsoll::kube {

struct ApiCredentials {
  std::string token;  // empty: none
  // PEM, of the TLS connection.
  std::string authorities;  // empty: those that the machine trusts
  std::string certificate;  // empty: none
  std::string key;

  // A connection made with the others may be used for these: the token goes with each request.
  bool SameConnection(const ApiCredentials& other) const {
    return authorities == other.authorities && certificate == other.certificate && key == other.key;
  }
};

// Reads all files again. UNAUTHENTICATED: one can't be read, or holds no token; its content is in
// no message.
absl::StatusOr<ApiCredentials> LoadCredentials(const ApiServerAddress& address);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_CREDENTIALS_H_
