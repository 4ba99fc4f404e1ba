// A gRPC server on a unix socket, whose file stays in place while it runs: for device plugins,
// PodResources and plimsoll-kube. The CRI's own socket, at which gRPC listens by itself, NRI's,
// which speaks ttrpc, and the sockets of plimsoll-kube's driver, which systemd may hand over, use
// base's calls instead.
//
//   SocketServer::Options options{.file = {path, 0600, std::nullopt}, .name = "things"};
//   options.configure = [&](grpc::ServerBuilder& builder) { builder.RegisterService(&things); };
//   PLIMSOLL_ASSIGN_OR_RETURN(auto server, SocketServer::Start(std::move(options)));
#ifndef PLIMSOLL_GRPC_SOCKET_SOCKET_SERVER_H_
#define PLIMSOLL_GRPC_SOCKET_SOCKET_SERVER_H_

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/connection_gate.h"
#include "base/socket_file.h"
#include "base/socket_keeper.h"

namespace plimsoll {

class SocketServer {
 public:
  struct Options {
    SocketFile file;                // its directory is there
    std::string name;               // of its share of memory
    size_t buffer_bytes = 8 << 20;  // of all connections together
    int request_bytes = 64 << 10;   // of one; a longer one fails alone
    int calls_of_connection = 16;   // under way at once
    // Open at once. One beyond them is closed as it comes, as each costs a descriptor.
    GateOptions connections;
    int idle_ms = 60'000;  // a connection without calls is closed after it
    // Adds services, which outlive the server, and further limits.
    std::function<void(grpc::ServerBuilder&)> configure;
    // Service that gRPC's health service reports as serving; empty: there is no health service.
    std::string healthy_service;
    // See SocketKeeper; may be null.
    std::function<void(const absl::Status&)> tell;
  };
  // Listens when it returns. A socket that a process left behind is replaced. INVALID_ARGUMENT: no
  // path for a socket. FAILED_PRECONDITION: a process listens there, or the file is no socket. An
  // error leaves no file.
  static absl::StatusOr<std::unique_ptr<SocketServer>> Start(Options options);
  // Removes the socket, unless another file has its place. Cancels calls under way, and waits for
  // their end.
  ~SocketServer();
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

 private:
  SocketServer(std::unique_ptr<grpc::Server> server, const GateOptions& connections);

  const std::unique_ptr<grpc::Server> server_;
  ConnectionGate gate_;  // of the keeper's thread
  std::unique_ptr<SocketKeeper> keeper_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_GRPC_SOCKET_SOCKET_SERVER_H_
