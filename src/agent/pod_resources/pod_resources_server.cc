#include "agent/pod_resources/pod_resources_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/pod_resources/answer_writer.h"
#include "agent/pod_resources/pod_resources_counters.h"
#include "base/connection_gate.h"
#include "base/socket_file.h"
#include "base/socket_keeper.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "kubelet/podresources/v1/api.grpc.pb.h"
#include "service/logging.h"

namespace plimsoll::agent {
namespace {

constexpr char kSocket[] = "kubelet.sock";
constexpr int kMaxRequestBytes = 64 * 1024;
constexpr size_t kMaxBufferBytes = 64 * 1024 * 1024;
constexpr int kMaxCallsOfConnection = 16;
// Of a process that leaks them: each one costs a descriptor of the agent's.
constexpr GateOptions kConnections{.most = 64, .most_of_user = 64};
constexpr int kIdleMs = 300'000;
// A call is under way for a copy of the pods.
constexpr int kThreads = 2;
constexpr size_t kMaxQueued = 64;

grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

class Server final : public PodResourcesServer, private ::v1::PodResourcesLister::CallbackService {
 public:
  explicit Server(Options options)
      : options_(std::move(options)),
        file_{absl::StrCat(options_.root.PathOf(options_.directory), "/", kSocket), 0600,
              std::nullopt},
        limit_(options_.calls_per_second, options_.burst, options_.clock) {}

  ~Server() override {
    SocketKeeper::RemoveFile(std::move(keeper_));
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
  }

  absl::Status Listen() {
    Count(0);
    PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(file_.path));
    PLIMSOLL_RETURN_IF_ERROR(options_.root.MakeDirs(options_.directory, 0750));
    PLIMSOLL_RETURN_IF_ERROR(CheckNobodyListens(file_.path));
    grpc::ServerBuilder builder;
    grpc::ResourceQuota quota("pod-resources");
    quota.Resize(kMaxBufferBytes);
    builder.SetResourceQuota(quota);
    builder.SetMaxReceiveMessageSize(kMaxRequestBytes);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxCallsOfConnection);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("can't start a gRPC server");
    PLIMSOLL_ASSIGN_OR_RETURN(UniqueFd listener, ListenAt(file_));
    const auto serve = [this](UniqueFd connection) { gate_.Admit(std::move(connection)); };
    const auto tell = [this](const absl::Status& made) {
      if (options_.tell_socket) options_.tell_socket(made);
    };
    PLIMSOLL_ASSIGN_OR_RETURN(keeper_,
                              SocketKeeper::Start(file_, serve, tell, std::move(listener)));
    return absl::OkStatus();
  }

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  Reactor* List(Context* context, const ::v1::ListPodResourcesRequest* /*request*/,
                ::v1::ListPodResourcesResponse* response) override {
    return Answer(context, [this, response] { return TellAll(response); });
  }
  Reactor* Get(Context* context, const ::v1::GetPodResourcesRequest* request,
               ::v1::GetPodResourcesResponse* response) override {
    return Answer(context, [this, request, response] { return TellOne(*request, response); });
  }
  Reactor* GetAllocatableResources(Context* context,
                                   const ::v1::AllocatableResourcesRequest* /*request*/,
                                   ::v1::AllocatableResourcesResponse* response) override {
    return Answer(context, [this, response] { return TellAllocatable(response); });
  }

  template <typename Work>
  Reactor* Answer(Context* context, Work work) {
    Reactor* const reactor = context->DefaultReactor();
    if (!limit_.Ask().pass) {
      reactor->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"});
      return reactor;
    }
    Count(1);
    const bool queued = pool_.TrySchedule([reactor, work] { reactor->Finish(ToGrpc(work())); });
    if (!queued) {
      reactor->Finish(ToGrpc(absl::ResourceExhaustedError("too many calls are under way")));
    }
    return reactor;
  }

  void Count(uint64_t calls) {
    if (options_.counters != nullptr) {
      options_.counters->Add(kPodResourcesRequests, {"v1"}, calls);
    }
  }

  absl::Status TellAll(::v1::ListPodResourcesResponse* response) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const std::vector<ReportedPod> pods, options_.source->Holders());
    const DeviceStock devices = options_.source->Devices();
    AnswerWriter writer(devices);
    for (const ReportedPod& pod : pods) {
      PLIMSOLL_RETURN_IF_ERROR(writer.AddPod(pod, response->add_pod_resources()));
    }
    return absl::OkStatus();
  }

  absl::Status TellOne(const ::v1::GetPodResourcesRequest& request,
                       ::v1::GetPodResourcesResponse* response) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const ReportedPod pod,
                              options_.source->Find(request.pod_namespace(), request.pod_name()));
    const DeviceStock devices = options_.source->Devices();
    return AnswerWriter(devices).AddPod(pod, response->mutable_pod_resources());
  }

  absl::Status TellAllocatable(::v1::AllocatableResourcesResponse* response) const {
    PLIMSOLL_ASSIGN_OR_RETURN(const auto managers, options_.source->Managers());
    const DeviceStock devices = options_.source->Devices();
    return AnswerWriter(devices).AddAllocatable(*managers, response);
  }

  const Options options_;
  const SocketFile file_;
  RateLimit limit_;
  WorkerPool pool_{kThreads, kMaxQueued};
  std::unique_ptr<grpc::Server> server_;
  ConnectionGate gate_{[this](UniqueFd connection) {
                         grpc::AddInsecureChannelFromFd(server_.get(), connection.Release());
                       },
                       kConnections};
  std::unique_ptr<SocketKeeper> keeper_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PodResourcesServer>> PodResourcesServer::Start(Options options) {
  const std::string directory = options.directory;
  auto server = std::make_unique<Server>(std::move(options));
  PLIMSOLL_RETURN_IF_ERROR(
      Annotate(server->Listen(), absl::StrCat("socket of PodResources in ", directory)));
  return std::unique_ptr<PodResourcesServer>(std::move(server));
}

}  // namespace plimsoll::agent
