#include "cri/calls/observer.h"
#include "cri/calls/unary_method.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "cri/services.h"
#include "cri/topology_feed.h"

#define PLIMSOLL_CRI_SERVICE "/runtime.v1.RuntimeService/"
#define PLIMSOLL_CRI_PACKAGE ::runtime::v1

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

constexpr char kNoCheckpoint[] = "containers cannot be checkpointed";

// Answers in bytes: the first two calls' messages are shared by all their streams, the next two's
// answers are joined from bytes made once, the last one's is made from a command's output.
using Base = v1::RuntimeService::WithRawCallbackMethod_GetDynamicRuntimeConfig<
    v1::RuntimeService::WithRawCallbackMethod_GetContainerEvents<
        v1::RuntimeService::WithRawCallbackMethod_ListContainers<
            v1::RuntimeService::WithRawCallbackMethod_ListPodSandbox<
                v1::RuntimeService::WithRawCallbackMethod_ExecSync<
                    v1::RuntimeService::CallbackService>>>>>;

class RuntimeService final : public Base {
 public:
  RuntimeService(Calls* calls, RuntimeRpcs* rpcs, ContainerEvents* events, TopologyFeed* topology)
      : calls_(calls), rpcs_(rpcs), events_(events), topology_(topology) {}

  PLIMSOLL_CRI_UNARY(&rpcs_->status, Version, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->status, Status, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->status, RuntimeConfig, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->status, UpdateRuntimeConfig, Lane::kWork)

  PLIMSOLL_CRI_UNARY(&rpcs_->pods, RunPodSandbox, Lane::kNetwork)
  PLIMSOLL_CRI_UNARY(&rpcs_->pods, StopPodSandbox, Lane::kEnd)
  PLIMSOLL_CRI_UNARY(&rpcs_->pods, RemovePodSandbox, Lane::kEnd)
  PLIMSOLL_CRI_UNARY(&rpcs_->pods, PodSandboxStatus, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->pods, UpdatePodSandboxConfig, Lane::kWork)

  PLIMSOLL_CRI_UNARY(&rpcs_->pods, CreateContainer, Lane::kWork)
  PLIMSOLL_CRI_UNARY(&rpcs_->pods, StartContainer, Lane::kWork)
  PLIMSOLL_CRI_UNARY(&rpcs_->pods, StopContainer, Lane::kEnd)
  PLIMSOLL_CRI_UNARY(&rpcs_->pods, RemoveContainer, Lane::kEnd)
  PLIMSOLL_CRI_UNARY(&rpcs_->pods, ContainerStatus, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->usage, ContainerStats, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->usage, ListContainerStats, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->usage, PodSandboxStats, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->usage, ListPodSandboxStats, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->usage, ListMetricDescriptors, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->usage, ListPodSandboxMetrics, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->pods, UpdateContainerResources, Lane::kWork)
  PLIMSOLL_CRI_UNARY(&rpcs_->pods, UpdatePodSandboxResources, Lane::kWork)
  PLIMSOLL_CRI_UNARY(&rpcs_->commands, Exec, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->commands, Attach, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->commands, PortForward, Lane::kLook)
  PLIMSOLL_CRI_UNARY(&rpcs_->pods, ReopenContainerLog, Lane::kWork)

  PLIMSOLL_CRI_UNSUPPORTED(CheckpointContainer, kNoCheckpoint)
  PLIMSOLL_CRI_UNSUPPORTED(CheckpointPod, kNoCheckpoint)
  PLIMSOLL_CRI_UNSUPPORTED(RestorePod, kNoCheckpoint)

  PLIMSOLL_CRI_LIST(&rpcs_->pods, StreamPodSandboxes)
  PLIMSOLL_CRI_LIST(&rpcs_->pods, StreamContainers)
  PLIMSOLL_CRI_LIST(&rpcs_->usage, StreamContainerStats)
  PLIMSOLL_CRI_LIST(&rpcs_->usage, StreamPodSandboxStats)
  PLIMSOLL_CRI_LIST(&rpcs_->usage, StreamPodSandboxMetrics)

  PLIMSOLL_CRI_UNARY_IN_BYTES(&rpcs_->pods, ListPodSandbox, Lane::kLook)
  PLIMSOLL_CRI_UNARY_IN_BYTES(&rpcs_->pods, ListContainers, Lane::kLook)

  grpc::ServerUnaryReactor* ExecSync(grpc::CallbackServerContext* context,
                                     const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* response) override {
    return calls_->UnaryInBytes<v1::ExecSyncRequest>(
        context, PLIMSOLL_CRI_SERVICE "ExecSync", Lane::kExec, *request, response,
        [this](const CallContext& call, const v1::ExecSyncRequest& asked,
               grpc::ByteBuffer* answer) { return rpcs_->commands.ExecSync(call, asked, answer); });
  }

  ContainerEvents::Reactor* GetContainerEvents(grpc::CallbackServerContext*,
                                               const grpc::ByteBuffer*) override {
    // Not `this`: the stream may outlive the service.
    return events_->Open([calls = calls_, start = absl::Now()](const absl::Status& status) {
      calls->Observe(PLIMSOLL_CRI_SERVICE "GetContainerEvents", start, status);
    });
  }

  TopologyFeed::Reactor* GetDynamicRuntimeConfig(grpc::CallbackServerContext* context,
                                                 const grpc::ByteBuffer*) override {
    static constexpr char kMethod[] = PLIMSOLL_CRI_SERVICE "GetDynamicRuntimeConfig";
    if (topology_ == nullptr) {
      return calls_->RefuseStream<grpc::ByteBuffer>(
          kMethod,
          "the feature gate KubeletResourceDiscoveryFromCRI is off, or the machine could not be "
          "watched when the daemon started (its log says why)");
    }
    const bool looks_only = context->client_metadata().contains(kObserverMetadata);
    const auto reader =
        looks_only ? TopologyFeed::Reader::kObserver : TopologyFeed::Reader::kClient;
    return topology_->Open(reader,
                           [calls = calls_, start = absl::Now()](const absl::Status& status) {
                             calls->Observe(kMethod, start, status);
                           });
  }

 private:
  Calls* const calls_;
  RuntimeRpcs* const rpcs_;
  ContainerEvents* const events_;
  TopologyFeed* const topology_;
};

}  // namespace

std::unique_ptr<grpc::Service> NewRuntimeService(Calls* calls, RuntimeRpcs* rpcs,
                                                 ContainerEvents* events, TopologyFeed* topology) {
  return std::make_unique<RuntimeService>(calls, rpcs, events, topology);
}

}  // namespace plimsoll::cri

#undef PLIMSOLL_CRI_PACKAGE
#undef PLIMSOLL_CRI_SERVICE
