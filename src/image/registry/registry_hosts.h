// containerd's configuration of registries, /etc/containerd/certs.d/HOST/hosts.toml (containerd,
// docs/hosts.md), for skopeo, which reads containers-registries.conf(5) and directories of
// certificates.
#ifndef PLIMSOLL_IMAGE_REGISTRY_REGISTRY_HOSTS_H_
#define PLIMSOLL_IMAGE_REGISTRY_REGISTRY_HOSTS_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"
#include "image/names/reference.h"
#include "image/names/short_names.h"
#include "image/registry/registry_relay.h"

namespace plimsoll::image {

struct ClientCertificate {
  std::string certificate;  // path of a PEM file
  std::string key;          // the same path where one file has both
};

// A server that has the registry's images, or a mirror of them.
struct RegistryHost {
  std::string host;          // "mirror.example:5000"
  std::string path = "/v2";  // in place of /v2
  bool plain = false;        // HTTP
  bool skip_verify = false;
  // Capabilities: "pull" is the manifests and blobs of a digest, "resolve" the digest of a tag.
  bool pulls = true;
  bool resolves = true;
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> authorities;  // paths of PEM files
  std::vector<ClientCertificate> clients;

  // "mirror.example:5000/prefix", as in registries.conf; empty: skopeo needs a relay to it.
  std::string Location() const;
};

struct RegistryHosts {
  std::string file;  // for messages
  RegistryHost server;
  std::vector<RegistryHost> mirrors;  // in the order to try them, before the server
};

// `registry`: "quay.io", "host:5000". `directory`: hosts.toml's own, for relative paths.
// INVALID_ARGUMENT names the file and an unknown member, one of a wrong type, or one of the server
// that skopeo has no setting for: `header`, a path outside of /v2. No error has a header's value.
absl::StatusOr<RegistryHosts> ParseRegistryHosts(absl::string_view text,
                                                 absl::string_view directory,
                                                 absl::string_view registry);

// The registry's hosts.toml of the machine; nullopt without one. As containerd, takes HOST_PORT_
// before HOST:PORT. The directory _default isn't read: its mirrors need the name of the registry
// (`?ns=`), which skopeo doesn't send.
absl::StatusOr<std::optional<RegistryHosts>> ReadRegistryHosts(const FsRoot& host,
                                                               absl::string_view registry);

// A relay to a mirror, for a pull.
struct MirrorRelay {
  std::shared_ptr<RegistryRelay> relay;
  std::string mirror;    // for messages
  std::string password;  // which skopeo must show it, with the user kRelayUser; empty: none
};
inline constexpr char kRelayUser[] = "relay";

// Writes what skopeo reads with `home` as HOME: a drop-in file of registries.conf, and the
// certificates, which `host` has. Returns the relays that skopeo is led to.
absl::StatusOr<std::vector<MirrorRelay>> WriteRegistryHosts(const RegistryHosts& hosts,
                                                            const FsRoot& host,
                                                            absl::string_view registry,
                                                            const FsRoot& home);

// Reads and writes the hosts.toml of the image's registry, unless registries.conf, which is read
// again, has a [[registry]] for the image: skopeo would let a drop-in file replace that, and
// machines that have both files for other programs would change. FAILED_PRECONDITION: either is
// malformed, or a mirror that needs a relay is behind an HTTP proxy.
absl::StatusOr<std::vector<MirrorRelay>> BringRegistryHosts(const FsRoot& host,
                                                            const Reference& image,
                                                            ShortNames& registries_conf,
                                                            const FsRoot& home);

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_REGISTRY_REGISTRY_HOSTS_H_
