// plimsoll.v1.TopologyProviderService on a socket of its own: a provider's topologies to a
// ProviderSource.
#ifndef PLIMSOLL_CRI_PROVIDER_SERVER_H_
#define PLIMSOLL_CRI_PROVIDER_SERVER_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cri/socket_file.h"
#include "topology/source_provider.h"

namespace plimsoll::cri {

struct ProviderServerOptions {
  SocketFile socket;  // its directory must exist; who may open it may be the provider
  std::shared_ptr<topology::ProviderSource> source;
  // A provider that answers no ping for that long, though its process is there, has gone.
  absl::Duration patience = absl::Seconds(20);
  int max_message_bytes = 4 * 1024 * 1024;  // a larger one ends the call
};

// A provider costs no more than what it last pushed and one message; messages are
// taken in a thread of their own, a hundred a second at most.
class ProviderServer {
 public:
  // Listens when it returns. A socket that is left over is replaced; one that answers is
  // FAILED_PRECONDITION.
  static absl::StatusOr<std::unique_ptr<ProviderServer>> Start(ProviderServerOptions options);
  // Disconnects the provider and removes the socket.
  virtual ~ProviderServer() = default;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_PROVIDER_SERVER_H_
