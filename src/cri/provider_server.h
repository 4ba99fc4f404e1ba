// plimsoll.v1.TopologyProviderService on its own socket: passes a provider's topologies to a
// ProviderSource.
#ifndef PLIMSOLL_CRI_PROVIDER_SERVER_H_
#define PLIMSOLL_CRI_PROVIDER_SERVER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/socket_file.h"
#include "topology/source_provider.h"

namespace plimsoll::cri {

struct ProviderServerOptions {
  SocketFile socket;  // its directory must exist; any process that can open it may be the provider
  std::shared_ptr<topology::ProviderSource> source;
  // A provider counts as gone after this time without an answer to a ping, even if its process
  // exists.
  absl::Duration patience = absl::Seconds(20);
  int max_message_bytes = 4 * 1024 * 1024;  // a larger message ends the call
};

// A provider costs at most its last topology and one message; a thread of their own takes messages,
// a hundred a second at most.
class ProviderServer {
 public:
  // Listens when it returns. Replaces a leftover socket; one that answers is FAILED_PRECONDITION.
  static absl::StatusOr<std::unique_ptr<ProviderServer>> Start(ProviderServerOptions options);
  // Disconnects the provider and removes the socket.
  virtual ~ProviderServer() = default;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_PROVIDER_SERVER_H_
