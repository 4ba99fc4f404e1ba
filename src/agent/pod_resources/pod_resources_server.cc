#include "agent/pod_resources/pod_resources_server.h"

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/pod_resources/answer_writer.h"
#include "agent/pod_resources/pod_resources_counters.h"
#include "base/connection_gate.h"
#include "base/socket_file.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "grpc_socket/socket_server.h"
#include "kubelet/podresources/v1/api.grpc.pb.h"
#include "kubelet/podresources/v1alpha1/api.grpc.pb.h"
#include "service/logging.h"

namespace plimsoll::agent {
namespace {

constexpr char kSocket[] = "kubelet.sock";
constexpr char kV1[] = "v1";
constexpr char kAlpha[] = "v1alpha1";
constexpr size_t kMaxBufferBytes = 64 * 1024 * 1024;
// Bounds a process that leaks connections.
constexpr GateOptions kConnections{.most = 64, .most_of_user = 64};
constexpr int kIdleMs = 300'000;
// A call is under way for a copy of the pods.
constexpr int kThreads = 2;
constexpr size_t kMaxQueued = 64;

grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

// Kubelet's form: v1's devices, an entry for each NUMA node near one, without the nodes.
void ToAlpha(const ::v1::ListPodResourcesResponse& all, ::v1alpha1::ListPodResourcesResponse* out) {
  for (const ::v1::PodResources& pod : all.pod_resources()) {
    ::v1alpha1::PodResources* const to_pod = out->add_pod_resources();
    to_pod->set_name(pod.name());
    to_pod->set_namespace_(pod.namespace_());
    for (const ::v1::ContainerResources& container : pod.containers()) {
      ::v1alpha1::ContainerResources* const to_container = to_pod->add_containers();
      to_container->set_name(container.name());
      for (const ::v1::ContainerDevices& devices : container.devices()) {
        ::v1alpha1::ContainerDevices* const to_devices = to_container->add_devices();
        to_devices->set_resource_name(devices.resource_name());
        *to_devices->mutable_device_ids() = devices.device_ids();
      }
    }
  }
}

class Server final : public PodResourcesServer, private ::v1::PodResourcesLister::CallbackService {
 public:
  explicit Server(Options options)
      : options_(std::move(options)),
        file_{absl::StrCat(options_.root.PathOf(options_.directory), "/", kSocket), 0600,
              std::nullopt},
        limit_(options_.calls_per_second, options_.burst, options_.clock) {}

  absl::Status Listen() {
    for (const char* version : {kV1, kAlpha}) Count(version, 0);
    PLIMSOLL_RETURN_IF_ERROR(CheckSocketPath(file_.path));
    PLIMSOLL_RETURN_IF_ERROR(options_.root.MakeDirs(options_.directory, 0750));
    SocketServer::Options server{.file = file_, .name = "pod-resources"};
    server.buffer_bytes = kMaxBufferBytes;
    server.connections = kConnections;
    server.idle_ms = kIdleMs;
    server.configure = [this](grpc::ServerBuilder& builder) {
      builder.RegisterService(this);
      builder.RegisterService(&alpha_);
    };
    server.tell = options_.tell_socket;
    PLIMSOLL_ASSIGN_OR_RETURN(server_, SocketServer::Start(std::move(server)));
    return absl::OkStatus();
  }

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  // The service of tools that know no v1.
  class Alpha final : public ::v1alpha1::PodResourcesLister::CallbackService {
   public:
    explicit Alpha(Server* server) : server_(*server) {}
    Reactor* List(Context* context, const ::v1alpha1::ListPodResourcesRequest* /*request*/,
                  ::v1alpha1::ListPodResourcesResponse* response) override {
      return server_.Answer(context, kAlpha, [this, response]() -> absl::Status {
        ::v1::ListPodResourcesResponse all;
        PLIMSOLL_RETURN_IF_ERROR(server_.TellAll(&all));
        ToAlpha(all, response);
        return absl::OkStatus();
      });
    }

   private:
    Server& server_;
  };

  Reactor* List(Context* context, const ::v1::ListPodResourcesRequest* /*request*/,
                ::v1::ListPodResourcesResponse* response) override {
    return Answer(context, kV1, [this, response] { return TellAll(response); });
  }
  Reactor* Get(Context* context, const ::v1::GetPodResourcesRequest* request,
               ::v1::GetPodResourcesResponse* response) override {
    return Answer(context, kV1, [this, request, response] { return TellOne(*request, response); });
  }
  Reactor* GetAllocatableResources(Context* context,
                                   const ::v1::AllocatableResourcesRequest* /*request*/,
                                   ::v1::AllocatableResourcesResponse* response) override {
    return Answer(context, kV1, [this, response] { return TellAllocatable(response); });
  }

  template <typename Work>
  Reactor* Answer(Context* context, const char* version, Work work) {
    Reactor* const reactor = context->DefaultReactor();
    if (!limit_.Ask().pass) {
      reactor->Finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "rejected by rate limit"});
      return reactor;
    }
    Count(version, 1);
    const bool queued = pool_.TrySchedule([reactor, work] { reactor->Finish(ToGrpc(work())); });
    if (!queued) {
      reactor->Finish(ToGrpc(absl::ResourceExhaustedError("too many calls are under way")));
    }
    return reactor;
  }

  void Count(const char* version, uint64_t calls) {
    if (options_.counters != nullptr) {
      options_.counters->Add(kPodResourcesRequests, {version}, calls);
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
  Alpha alpha_{this};
  std::unique_ptr<SocketServer> server_;
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
