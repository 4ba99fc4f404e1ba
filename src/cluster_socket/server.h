// The socket for plimsoll-kube: ClusterService (plimsoll/v1/cluster.proto) and gRPC's health, no
// CRI.
#ifndef PLIMSOLL_CLUSTER_SOCKET_SERVER_H_
#define PLIMSOLL_CLUSTER_SOCKET_SERVER_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/connection_gate.h"
#include "base/fs_root.h"
#include "base/socket_file.h"
#include "cluster_socket/node_watch.h"
#include "cluster_socket/pod_classes.h"
#include "cri/calls/calls.h"

namespace plimsoll::cluster {

struct ServerOptions {
  SocketFile socket;
  FsRoot host;                 // "/"
  NodeWatch* watch = nullptr;  // outlives the server, as the next
  PodClasses* classes = nullptr;
  cri::CallObserver observer;  // may be null, as the next two
  cri::RequestTracer tracer;
  // The socket's file was removed and is there again (OK), or can't be made again.
  std::function<void(const absl::Status&)> on_socket_lost;
  GateOptions gate;
};

// A server whose calls have two threads of their own, which start when they are needed: none of the
// CRI's calls waits for them.
class Server {
 public:
  // Listens when it returns. Replaces a leftover socket; one that answers is FAILED_PRECONDITION.
  static absl::StatusOr<std::unique_ptr<Server>> Start(ServerOptions options);
  // Cuts off all calls and removes the socket.
  virtual ~Server() = default;
};

}  // namespace plimsoll::cluster

#endif  // PLIMSOLL_CLUSTER_SOCKET_SERVER_H_
