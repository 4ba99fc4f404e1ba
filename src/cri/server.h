// The gRPC server: RuntimeService, ImageService and NodeService on one unix socket. gRPC's own
// grpc.health.v1.Health answers SERVING for each, and for "", from the socket's appearance to the
// start of the shutdown.
//
//   cri::ServerOptions options;
//   options.socket_path = "/run/plimsoll/plimsoll.sock";
//   options.engine = engine.get();
//   ...
//   PLIMSOLL_ASSIGN_OR_RETURN(auto server, cri::Server::Start(std::move(options)));
#ifndef PLIMSOLL_CRI_SERVER_H_
#define PLIMSOLL_CRI_SERVER_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cri/calls/calls.h"
#include "cri/container_events.h"
#include "cri/node_info.h"
#include "cri/topology_feed.h"
#include "image/image_service.h"
#include "runtime/engine.h"
#include "runtime/objects/event_log.h"
#include "topology/publisher.h"

namespace plimsoll::cri {

struct ServerOptions {
  std::string socket_path;  // absolute, at most 106 bytes; its directory must exist
  mode_t socket_mode = 0660;
  std::optional<gid_t> socket_group;  // owner stays this process's user
  NodeInfo info;                      // the server fills in `socket_path`
  CallOptions calls;
  runtime::Engine* engine = nullptr;  // this and the next two must outlive the server
  image::ImageService* images = nullptr;
  runtime::EventLog* events = nullptr;
  // The source of GetDynamicRuntimeConfig; null: UNIMPLEMENTED. Outlives the server.
  topology::Publisher* topology = nullptr;
  // For GetContainerEvents, see ContainerEvents.
  size_t max_pending_events = ContainerEvents::kMaxPending;
  TopologyFeed::Hooks topology_hooks;
  // Called by Shutdown if calls still run after its grace: ends them soon. May be null.
  std::function<void()> abandon_calls;
};

class Server {
 public:
  // Listens when it returns. Replaces a leftover socket; one that answers is FAILED_PRECONDITION:
  // another daemon has it. The socket appears at its path with mode and group already right.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);

  // Shuts down with no grace.
  virtual ~Server() = default;

  // Accepts no new calls, waits up to `grace` for running ones, then cancels them (streams, pulls
  // and the calls that `abandon_calls` reaches end at once) and waits three seconds more. Removes
  // the socket. False if calls still run: this can't be destroyed before they end. Once only.
  virtual bool Shutdown(absl::Duration grace) = 0;

  virtual const std::string& socket_path() const = 0;
  // The load of each lane.
  virtual std::vector<LaneState> Lanes() const = 0;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_SERVER_H_
