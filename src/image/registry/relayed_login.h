// A way for credentials to a registry whose /v2/ is open to everybody, while its repositories ask
// for a login. skopeo (1.9.3) looks for the registry's challenge in its answer to /v2/ alone
// (containers/image, docker_client.go), and so never sends credentials to such a one.
#ifndef PLIMSOLL_IMAGE_REGISTRY_RELAYED_LOGIN_H_
#define PLIMSOLL_IMAGE_REGISTRY_RELAYED_LOGIN_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "image/names/reference.h"
#include "image/registry/registry_relay.h"

namespace plimsoll::image {

// A pull that its registry has refused with 401.
struct RefusedPull {
  const FsRoot& host;  // the machine
  Reference reference;
  bool insecure = false;        // as TransportOptions::insecure
  std::string registries_conf;  // as TransportOptions::registries_conf
  std::function<bool()> cancelled;
};

// Starts a relay to the registry of the pull, and leads skopeo, whose HOME is `home`, to it: by a
// drop-in file of registries.conf for the one repository, and a directory of certificates. The
// relay trusts what skopeo trusts for the registry.
//
// NOT_FOUND: the registry asks for a login as others do, or registries.conf or hosts.toml lead to
// another host, which gets no credentials. FAILED_PRECONDITION: the registry is behind an HTTP
// proxy, or is shown a client certificate. Else errors of FindChallenges.
absl::StatusOr<std::unique_ptr<RegistryRelay>> RelayLogin(const RefusedPull& pull,
                                                          const FsRoot& home);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_REGISTRY_RELAYED_LOGIN_H_
