#include "cri/provider_server.h"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/socket_address.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "cri/calls/grpc_status.h"
#include "plimsoll/v1/topology.grpc.pb.h"
#include "topology/wire/translate_topology.h"

namespace plimsoll::cri {
namespace {

namespace node = ::plimsoll::v1;

constexpr size_t kMaxProviderBufferBytes = 32 * 1024 * 1024;
constexpr size_t kMaxProviderNameBytes = 253;
// Calls at once, beyond which they wait: the provider's, and refused ones of other providers.
constexpr size_t kMaxCalls = 16;
// A pause after each request, so that a runaway provider can't take a whole CPU.
constexpr absl::Duration kPause = absl::Milliseconds(10);

absl::Status CheckProviderName(const std::string& name) {
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) > ' ' && c != '\x7f';
  });
  if (!name.empty() && name.size() <= kMaxProviderNameBytes && printable) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("provider: the first request must name the provider, in 1 to ",
                   kMaxProviderNameBytes, " bytes without spaces"));
}

// One call. Owned by gRPC until OnDone; only one of read, pending request and write at a time.
class Call final : public grpc::ServerBidiReactor<node::ProvideRequest, node::ProvideResponse> {
 public:
  Call(std::shared_ptr<topology::ProviderSource> source, WorkerPool* worker)
      : source_(std::move(source)), worker_(worker) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    if (worker_->TrySchedule([this] { Take(); })) return;
    Finish(ToGrpcStatus(absl::ResourceExhaustedError("too many topology providers at once")));
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

 private:
  void Take() {
    const absl::Status connected = Connect();
    if (!connected.ok()) return Finish(ToGrpcStatus(connected));
    const bool has_topology = request_.has_topology();
    const absl::Status pushed = has_topology ? Push() : absl::OkStatus();
    response_.set_accepted(pushed.ok());
    response_.set_reason(pushed.ok() && has_topology ? session_->AwaitOutcome()
                                                     : std::string(pushed.message()));
    absl::SleepFor(kPause);
    StartWrite(&response_);
  }
  absl::Status Connect() {
    if (session_ != nullptr) return absl::OkStatus();
    PLIMSOLL_RETURN_IF_ERROR(CheckProviderName(request_.provider()));
    PLIMSOLL_ASSIGN_OR_RETURN(session_, source_->Connect(request_.provider()));
    return absl::OkStatus();
  }
  absl::Status Push() {
    PLIMSOLL_ASSIGN_OR_RETURN(topology::Topology topology,
                              topology::TopologyFrom(request_.topology()));
    request_.Clear();
    return session_->Push(std::move(topology));
  }

  const std::shared_ptr<topology::ProviderSource> source_;
  WorkerPool* const worker_;
  std::unique_ptr<topology::ProviderSource::Session> session_;
  node::ProvideRequest request_;
  node::ProvideResponse response_;
};

class GrpcProviderServer final : public ProviderServer,
                                 private node::TopologyProviderService::CallbackService {
 public:
  explicit GrpcProviderServer(ProviderServerOptions options) : options_(std::move(options)) {}
  ~GrpcProviderServer() override {
    if (server_ == nullptr) return;
    if (published_) unlink(options_.socket.path.c_str());
    server_->Shutdown(absl::ToChronoTime(absl::Now()));
    server_->Wait();
  }

  absl::Status Listen() {
    const std::string& path = options_.socket.path;
    PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(path));
    PLIMSOLL_RETURN_IF_ERROR(CheckNobodyListens(path));
    const std::string unfinished = UnfinishedSocket(path);
    PLIMSOLL_ASSIGN_OR_RETURN(const SocketAddress address, SocketAddressOf(unfinished));
    grpc::ServerBuilder builder;
    grpc::ResourceQuota quota("plimsoll-topology");
    quota.Resize(kMaxProviderBufferBytes);
    builder.SetResourceQuota(quota);
    builder.SetMaxReceiveMessageSize(options_.max_message_bytes);
    const int patience_ms = static_cast<int>(absl::ToInt64Milliseconds(options_.patience / 2));
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, patience_ms);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, patience_ms);
    // Ping idle streams too.
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, static_cast<int>(kMaxCalls));
    int bound = 0;
    builder.AddListeningPort(address.uri, grpc::InsecureServerCredentials(), &bound);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || bound == 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot listen on ", path,
                       ": does its directory exist and may this process write there?"));
    }
    absl::Cleanup remove = [&] { unlink(unfinished.c_str()); };
    PLIMSOLL_RETURN_IF_ERROR(PublishSocket(options_.socket));
    std::move(remove).Cancel();
    published_ = true;
    return absl::OkStatus();
  }

 private:
  grpc::ServerBidiReactor<node::ProvideRequest, node::ProvideResponse>* Provide(
      grpc::CallbackServerContext* /*context*/) override {
    return new Call(options_.source, &worker_);
  }

  const ProviderServerOptions options_;
  // Once the server has ended, no call is left to give it work.
  WorkerPool worker_{2, kMaxCalls};
  std::unique_ptr<grpc::Server> server_;
  bool published_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ProviderServer>> ProviderServer::Start(
    ProviderServerOptions options) {
  auto server = std::make_unique<GrpcProviderServer>(std::move(options));
  PLIMSOLL_RETURN_IF_ERROR(Annotate(server->Listen(), "topology provider's socket"));
  return std::unique_ptr<ProviderServer>(std::move(server));
}

}  // namespace plimsoll::cri
