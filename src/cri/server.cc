#include "cri/server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "base/socket_address.h"
#include "base/socket_file.h"
#include "base/socket_keeper.h"
#include "base/status.h"
#include "cri/calls/unknown_methods.h"
#include "cri/image_rpcs.h"
#include "cri/runtime_rpcs.h"
#include "cri/services.h"

namespace plimsoll::cri {
namespace {

// kubelet's own limit, for both directions.
constexpr int kMaxRequestBytes = 16 * 1024 * 1024;
// Limit of gRPC's buffers for all calls together.
constexpr size_t kMaxBufferBytes = 64 * 1024 * 1024;
// The services' names in grpc.health.v1.Health.
constexpr const char* kServices[] = {"runtime.v1.RuntimeService", "runtime.v1.ImageService",
                                     "plimsoll.v1.NodeService"};
// Wait for cancelled calls.
constexpr absl::Duration kCancelGrace = absl::Seconds(3);
// Part of kCancelGrace: wait for abandoned calls to answer by themselves.
constexpr absl::Duration kAbandonGrace = absl::Seconds(1);

std::chrono::system_clock::time_point Now() {
  return absl::ToChronoTime(absl::Now());
}

class GrpcServer final : public Server {
 public:
  explicit GrpcServer(ServerOptions options)
      : options_(std::move(options)),
        runtime_rpcs_(options_.engine, options_.events, options_.info),
        image_rpcs_(options_.images, options_.engine, options_.info.runtime_handlers),
        calls_(options_.calls),
        container_events_(options_.engine, options_.events, &runtime_rpcs_.pods,
                          options_.max_pending_events),
        topology_feed_(
            options_.topology == nullptr
                ? nullptr
                : std::make_unique<TopologyFeed>(options_.topology, options_.topology_hooks)),
        unknown_methods_(NewUnknownMethods(&calls_)) {
    services_.push_back(
        NewRuntimeService(&calls_, &runtime_rpcs_, &container_events_, topology_feed_.get()));
    services_.push_back(NewImageService(&calls_, &image_rpcs_));
    services_.push_back(NewNodeService(&calls_, {options_.engine, options_.events, options_.images,
                                                 options_.info, &runtime_rpcs_.usage}));
  }

  ~GrpcServer() override { static_cast<void>(Shutdown(absl::ZeroDuration())); }

  absl::Status Listen() {
    PLIMSOLL_RETURN_IF_ERROR(CheckNobodyListens(options_.socket_path));
    const std::string unfinished = UnfinishedSocket(options_.socket_path);
    grpc::EnableDefaultHealthCheckService(true);  // for every server built from now on
    grpc::ServerBuilder builder;
    grpc::ResourceQuota quota("plimsoll");
    quota.Resize(kMaxBufferBytes);
    builder.SetResourceQuota(quota);
    builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
    int bound = 0;
    PLIMSOLL_ASSIGN_OR_RETURN(const SocketAddress address, SocketAddressOf(unfinished));
    builder.AddListeningPort(address.uri, grpc::InsecureServerCredentials(), &bound);
    for (const auto& service : services_) builder.RegisterService(service.get());
    builder.RegisterCallbackGenericService(unknown_methods_.get());
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || bound == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot listen on ", options_.socket_path,
                       ": does its directory exist and may this process write there?"));
    }
    // Before the socket appears: a client that finds it is served.
    for (const char* service : kServices) {
      server_->GetHealthCheckService()->SetServingStatus(service, true);
    }
    absl::Cleanup remove = [&] { unlink(unfinished.c_str()); };
    PLIMSOLL_RETURN_IF_ERROR(PublishSocket(File()));
    std::move(remove).Cancel();
    published_ = true;
    KeepSocket();
    return absl::OkStatus();
  }

  bool Shutdown(absl::Duration grace) override {
    if (server_ == nullptr) return true;
    if (published_ && keeper_ == nullptr) unlink(options_.socket_path.c_str());
    SocketKeeper::RemoveFile(std::move(keeper_));
    server_->GetHealthCheckService()->SetServingStatus(false);
    // Drained here, not by gRPC, which also waits for every idle client to close.
    if (!calls_.Drain(absl::Now() + grace)) {
      const absl::Time deadline = absl::Now() + kCancelGrace;
      if (options_.abandon_calls) {
        options_.abandon_calls();
        // These calls answer with their own reason; gRPC's is "Cancelling all calls".
        calls_.Drain(absl::Now() + kAbandonGrace);
      }
      // gRPC's Shutdown returns only when the last handler has: run it in another thread.
      std::thread cancel([server = server_.get()] { server->Shutdown(Now()); });
      if (!calls_.Drain(deadline)) {
        cancel.detach();
        static_cast<void>(server_.release());
        return false;
      }
      cancel.join();
    }
    server_->Shutdown(Now());
    server_->Wait();
    server_.reset();
    return true;
  }

  const std::string& socket_path() const override { return options_.socket_path; }
  std::vector<LaneState> Lanes() const override { return calls_.State(); }

 private:
  SocketFile File() const {
    return {options_.socket_path, options_.socket_mode, options_.socket_group};
  }

  void KeepSocket() {
    const auto warn = [this](absl::string_view message) {
      options_.events->Add(runtime::EventType::kWarning, "", "", std::string(message));
    };
    // A running gRPC server takes no further listener, but it takes connections.
    const auto serve = [this](UniqueFd connection) {
      grpc::AddInsecureChannelFromFd(server_.get(), connection.Release());
    };
    const auto tell = [this, warn](const absl::Status& made) {
      warn(absl::StrCat("another process removed ", options_.socket_path,
                        made.ok() ? "; it has been made again" : ", and it can't be made again: ",
                        made.message()));
    };
    auto keeper = SocketKeeper::Start(File(), serve, tell);
    if (keeper.ok()) {
      keeper_ = *std::move(keeper);
    } else {
      warn(absl::StrCat(options_.socket_path, " is not made again if another process removes it: ",
                        keeper.status().message()));
    }
  }

  const ServerOptions options_;
  RuntimeRpcs runtime_rpcs_;
  ImageRpcs image_rpcs_;
  Calls calls_;
  ContainerEvents container_events_;
  const std::unique_ptr<TopologyFeed> topology_feed_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::CallbackGenericService> unknown_methods_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<SocketKeeper> keeper_;
  bool published_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(options.socket_path));
  options.info.socket_path = options.socket_path;
  auto server = std::make_unique<GrpcServer>(std::move(options));
  PLIMSOLL_RETURN_IF_ERROR(server->Listen());
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace plimsoll::cri
