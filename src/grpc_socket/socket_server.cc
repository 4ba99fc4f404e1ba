#include "grpc_socket/socket_server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace plimsoll {
namespace {

std::unique_ptr<grpc::Server> Build(const SocketServer::Options& options) {
  const bool has_health = !options.healthy_service.empty();
  if (has_health) grpc::EnableDefaultHealthCheckService(true);  // for all servers from now on
  grpc::ServerBuilder builder;
  grpc::ResourceQuota quota(options.name);
  quota.Resize(options.buffer_bytes);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(options.request_bytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.calls_of_connection);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, options.idle_ms);
  if (options.configure) options.configure(builder);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server != nullptr && has_health) {
    server->GetHealthCheckService()->SetServingStatus(options.healthy_service, true);
  }
  return server;
}

}  // namespace

SocketServer::SocketServer(std::unique_ptr<grpc::Server> server, const GateOptions& connections)
    : server_(std::move(server)),
      gate_([raw = server_.get()](
                UniqueFd connection) { grpc::AddInsecureChannelFromFd(raw, connection.Release()); },
            connections) {}

absl::StatusOr<std::unique_ptr<SocketServer>> SocketServer::Start(Options options) {
  PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(options.file.path));
  PLIMSOLL_RETURN_IF_ERROR(CheckNobodyListens(options.file.path));
  std::unique_ptr<grpc::Server> built = Build(options);
  if (built == nullptr) return absl::InternalError("can't start a gRPC server");
  std::unique_ptr<SocketServer> server(new SocketServer(std::move(built), options.connections));
  const auto serve = [&gate = server->gate_](UniqueFd connection) {
    gate.Admit(std::move(connection));
  };
  const auto tell = [told = std::move(options.tell)](const absl::Status& made) {
    if (told) told(made);
  };
  PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd listener, ListenAt(options.file));
  PLIMSOLL_ASSIGN_OR_RETURN(server->keeper_,
                            SocketKeeper::Start(options.file, serve, tell, std::move(listener)));
  return server;
}

SocketServer::~SocketServer() {
  SocketKeeper::RemoveFile(std::move(keeper_));
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
}

}  // namespace plimsoll
