// A registry once more, at an address of its own on this machine's loopback, for what skopeo has no
// setting for: a challenge that isn't in the registry's answer to /v2/, a header, another path.
#ifndef PLIMSOLL_IMAGE_REGISTRY_REGISTRY_RELAY_H_
#define PLIMSOLL_IMAGE_REGISTRY_REGISTRY_RELAY_H_

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/unique_fd.h"
#include "dial/connect.h"
#include "dial/stream.h"
#include "dial/tls_stream.h"

namespace plimsoll::image {

// A registry, and how it is reached.
struct RegistryAddress {
  std::string registry;  // "quay.io", "host:5000", "[::1]:5000"
  bool plain = false;    // HTTP
  // nullopt: any certificate is taken.
  std::optional<dial::TlsTrust> trust = dial::TlsTrust();
};

// True when the environment sets an HTTP proxy for the registry, as Go's programs understand it
// (HTTPS_PROXY, HTTP_PROXY, NO_PROXY but for networks, which count as not excepted). A relay uses
// no proxy.
bool IsBehindProxy(const RegistryAddress& address);

// The challenges with which the registry refuses `path` (/v2/NAME/manifests/TAG), if it is open at
// /v2/ and has no challenge there: values of WWW-Authenticate. NOT_FOUND: the registry isn't like
// that. Else errors of the connection.
absl::StatusOr<std::vector<std::string>> FindChallenges(const RegistryAddress& address,
                                                        absl::string_view path,
                                                        const dial::Until& until);

struct RelayOptions {
  RegistryAddress address;
  std::string path = "/v2";                                  // of the registry, for /v2 here
  std::vector<std::string> challenges;                       // for the answer to /v2/
  std::vector<std::pair<std::string, std::string>> headers;  // of every request to the registry
  // Serves only requests with this value of Authorization, which the registry doesn't get. Empty:
  // serves everybody, and passes Authorization on.
  std::string authorization;
};

// Gives every answer as the registry does, but for RelayOptions; 502 with the reason where the
// registry gives none. Serves GET and HEAD below /v2/, one request a connection; speaks TLS unless
// the registry doesn't. Threads of its own.
class RegistryRelay {
 public:
  static absl::StatusOr<std::unique_ptr<RegistryRelay>> Start(RelayOptions options);
  ~RegistryRelay();

  // "127.0.0.1:40123"
  std::string host() const { return host_; }
  // In PEM, the only authority for the relay; empty where it speaks plain HTTP.
  const std::string& authority() const { return identity_.certificate; }

 private:
  explicit RegistryRelay(RelayOptions options) : options_(std::move(options)) {}
  absl::Status Listen();
  void Accept();
  absl::Status Serve(UniqueFd fd);
  absl::Status Answer(dial::Stream& client);
  std::string LocationHere(absl::string_view location) const;

  const RelayOptions options_;
  dial::TlsIdentity identity_;
  UniqueFd listener_;
  std::string host_;
  std::atomic<bool> stopping_ = false;
  std::thread accepting_;
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_REGISTRY_REGISTRY_RELAY_H_
