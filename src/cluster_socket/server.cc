#include "cluster_socket/server.h"

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "base/status.h"
#include "cri/calls/grpc_status.h"
#include "cri/calls/unary_method.h"
#include "cri/calls/unknown_methods.h"
#include "grpc_socket/socket_server.h"
#include "plimsoll/v1/cluster.grpc.pb.h"

#define PLIMSOLL_CRI_SERVICE "/plimsoll.v1.ClusterService/"
#define PLIMSOLL_CRI_PACKAGE ::plimsoll::v1

namespace plimsoll::cluster {
namespace {

namespace wire = ::plimsoll::v1;

constexpr char kServiceName[] = "plimsoll.v1.ClusterService";
constexpr size_t kMaxBufferBytes = 16 * 1024 * 1024;
constexpr int kThreads = 2;
constexpr size_t kMostWaitingCalls = 64;
// A connection without calls is closed after it. plimsoll-kube makes a new one for each call.
constexpr int kIdleMs = 60'000;
constexpr int kPingEveryMs = 60'000;
constexpr int kPingPatienceMs = 20'000;

cri::LaneOptions Lanes(const FsRoot& host) {
  return {.host = host,
          .look_threads = 1,
          .work_threads = kThreads,
          .waiting_threads = 1,
          .max_queued = kMostWaitingCalls,
          .on_exhausted = nullptr};
}

// The calls, as messages.
class Rpcs {
 public:
  explicit Rpcs(PodClasses* classes) : classes_(*classes) {}

  absl::Status SetPodClasses(const wire::SetPodClassesRequest& request,
                             wire::SetPodClassesResponse*) const {
    return classes_.Set({.claim_uid = request.claim_uid(),
                         .pod_uid = request.pod_uid(),
                         .classes = {request.classes().begin(), request.classes().end()}});
  }
  absl::Status DropPodClasses(const wire::DropPodClassesRequest& request,
                              wire::DropPodClassesResponse*) const {
    return classes_.Drop(request.claim_uid());
  }
  absl::Status ListPodClasses(const wire::ListPodClassesRequest&,
                              wire::ListPodClassesResponse* response) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<Claim> claims, classes_.List());
    for (const Claim& claim : claims) {
      wire::SetPodClassesRequest* pod = response->add_pods();
      pod->set_pod_uid(claim.pod_uid);
      pod->set_claim_uid(claim.claim_uid);
      pod->mutable_classes()->insert(claim.classes.begin(), claim.classes.end());
    }
    return absl::OkStatus();
  }
  absl::Status SetScheduled(const wire::SetScheduledRequest& request,
                            wire::SetScheduledResponse*) const {
    return classes_.SetScheduled(request.scheduled());
  }

 private:
  PodClasses& classes_;
};

class ClusterService final : public wire::ClusterService::CallbackService {
 public:
  ClusterService(cri::Calls* calls, NodeWatch* watch, PodClasses* classes)
      : calls_(calls), watch_(watch), all_(classes), rpcs_(&all_) {}

  PLIMSOLL_CRI_UNARY(rpcs_, SetPodClasses, cri::Lane::kWork)
  PLIMSOLL_CRI_UNARY(rpcs_, DropPodClasses, cri::Lane::kWork)
  PLIMSOLL_CRI_UNARY(rpcs_, ListPodClasses, cri::Lane::kLook)
  PLIMSOLL_CRI_UNARY(rpcs_, SetScheduled, cri::Lane::kWork)

  NodeWatch::Reactor* WatchNode(grpc::CallbackServerContext* context,
                                const wire::WatchNodeRequest* request) override {
    static constexpr char kMethod[] = PLIMSOLL_CRI_SERVICE "WatchNode";
    calls_->Trace(kMethod, *request);
    return watch_->Open(context, [calls = calls_, begun = absl::Now()](const absl::Status& end) {
      calls->Observe(kMethod, begun, end);
    });
  }

 private:
  cri::Calls* const calls_;
  NodeWatch* const watch_;
  const Rpcs all_;
  const Rpcs* const rpcs_;
};

class GrpcServer final : public Server {
 public:
  explicit GrpcServer(ServerOptions options)
      : options_(std::move(options)),
        calls_({.observer = options_.observer,
                .tracer = options_.tracer,
                .lanes = Lanes(options_.host)}),
        service_(&calls_, options_.watch, options_.classes),
        unknown_methods_(cri::NewUnknownMethods(&calls_)) {}

  ~GrpcServer() override {
    if (server_ == nullptr) return;
    server_.reset();
    options_.watch->AwaitEnd();
  }

  absl::Status Listen() {
    SocketServer::Options server{.file = options_.socket, .name = "plimsoll-cluster"};
    server.buffer_bytes = kMaxBufferBytes;
    server.configure = [this](grpc::ServerBuilder& builder) { Configure(builder); };
    server.healthy_service = kServiceName;
    server.connections = options_.gate;
    server.idle_ms = kIdleMs;
    server.tell = options_.on_socket_lost;
    PLIMSOLL_ASSIGN_OR_RETURN(server_, SocketServer::Start(std::move(server)));
    return absl::OkStatus();
  }

 private:
  void Configure(grpc::ServerBuilder& builder) {
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingEveryMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingPatienceMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    // A client may ping as often, to notice a daemon that hangs.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               kPingEveryMs / 2);
    // No limit: gRPC answers each ping past it with a farewell, and keeps those for a client that
    // reads none, a kilobyte a ping. The answers to pings it bounds itself: it stops to read.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
    builder.RegisterService(&service_);
    builder.RegisterCallbackGenericService(unknown_methods_.get());
  }

  const ServerOptions options_;
  // Each uses those above it.
  cri::Calls calls_;
  ClusterService service_;
  const std::unique_ptr<grpc::CallbackGenericService> unknown_methods_;
  std::unique_ptr<SocketServer> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  auto server = std::make_unique<GrpcServer>(std::move(options));
  PLIMSOLL_RETURN_IF_ERROR(Annotate(server->Listen(), "the cluster's socket"));
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace plimsoll::cluster

#undef PLIMSOLL_CRI_SERVICE
#undef PLIMSOLL_CRI_PACKAGE
