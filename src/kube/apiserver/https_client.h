// The ApiClient that speaks with a real server.
//
//   PLIMSOLL_ASSIGN_OR_RETURN(const ApiServerAddress address, InClusterAddress(&std::getenv));
//   PLIMSOLL_ASSIGN_OR_RETURN(const auto client, MakeApiClient(address));
#ifndef PLIMSOLL_KUBE_APISERVER_HTTPS_CLIENT_H_
#define PLIMSOLL_KUBE_APISERVER_HTTPS_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "kube/apiserver/api_client.h"
#include "kube/apiserver/server_address.h"

namespace plimsoll::kube {

struct ApiClientOptions {
  std::string user_agent = "plimsoll-kube";
  uint32_t most_header_bytes = 64 * 1024;
  // Two bodies at a time and what is made of them must fit into the unit's MemoryMax.
  size_t most_body_bytes = 4 * 1024 * 1024;
  size_t most_event_bytes = 4 * 1024 * 1024;
  // A watch without timeoutSeconds asks for a time between this and twice this, as client-go does.
  absl::Duration watch_time = absl::Minutes(5);
  // How much later than asked the server may end a watch, before the client does.
  absl::Duration watch_grace = absl::Seconds(30);
  // A watch with bookmarks, which come once a minute, breaks after so long without a byte.
  absl::Duration watch_silence = absl::Seconds(150);
};

// HTTPS with keep-alive, by TLS 1.2 or later; certificates and names are verified. A call takes an
// idle connection or makes one, a watch always makes one. No proxy is asked for. Redirects are not
// followed.
//
// The files of the address are read again for each call and watch. After 401 the call is repeated
// once if they hold another token by then. A 429 or 503 with a Retry-After within the call's
// patience (a watch's: ten seconds) is waited for. A call whose connection was idle before and
// broke before any answer is repeated once on a new one, unless it is a POST. Nothing else is
// repeated.
//
// RESOURCE_EXHAUSTED: the process has no descriptor left.
absl::StatusOr<std::unique_ptr<ApiClient>> MakeApiClient(ApiServerAddress address,
                                                         ApiClientOptions options = {});

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_APISERVER_HTTPS_CLIENT_H_
