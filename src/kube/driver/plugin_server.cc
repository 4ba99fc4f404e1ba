#include "kube/driver/plugin_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>

#include <atomic>
#include <map>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "base/worker_pool.h"
#include "kube/driver/health_streams.h"
#include "kube/driver/socket_front.h"
#include "kubelet/dra/v1/api.grpc.pb.h"
#include "kubelet/pluginregistration/v1/api.grpc.pb.h"
#include "qos/class_devices.h"

namespace plimsoll::kube {
namespace {

namespace dra = ::k8s::io::kubelet::pkg::apis::dra::v1;

// A claim's names are three words of 253 bytes at most.
constexpr int kMaxMessageBytes = 1024 * 1024;
constexpr size_t kMaxBufferBytes = 8 * 1024 * 1024;
// Claims that wait for the API server and plimsolld at once.
constexpr int kThreads = 8;
constexpr size_t kMaxQueued = 4 * kMaxClaims;
constexpr absl::Duration kStreamPatience = absl::Seconds(1);

// Counts calls until their answers have left. Thread-safe.
class UnderWay {
 public:
  void Add() {
    const absl::MutexLock lock(&mutex_);
    ++count_;
  }
  void Remove() {
    const absl::MutexLock lock(&mutex_);
    --count_;
  }
  bool AwaitNone(absl::Duration patience) {
    const absl::MutexLock lock(&mutex_);
    const auto is_none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return count_ == 0; };
    return mutex_.AwaitWithTimeout(absl::Condition(&is_none), patience);
  }

 private:
  absl::Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Owned by gRPC until OnDone.
class PluginReactor final : public grpc::ServerUnaryReactor {
 public:
  explicit PluginReactor(UnderWay& under_way) : under_way_(under_way) { under_way_.Add(); }
  bool cancelled() const { return cancelled_; }

 private:
  void OnCancel() override { cancelled_ = true; }
  void OnDone() override {
    under_way_.Remove();
    delete this;
  }

  UnderWay& under_way_;
  std::atomic<bool> cancelled_ = false;
};

grpc::ServerUnaryReactor* Answered(UnderWay& under_way, const grpc::Status& status) {
  auto* const reactor = new PluginReactor(under_way);
  reactor->Finish(status);
  return reactor;
}

class RegistrationService final : public pluginregistration::Registration::CallbackService {
 public:
  RegistrationService(const PluginServerOptions& options, UnderWay& under_way)
      : endpoint_(options.driver.path), on_verdict_(options.on_verdict), under_way_(under_way) {}

 private:
  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext*,
                                    const pluginregistration::InfoRequest*,
                                    pluginregistration::PluginInfo* info) override {
    info->set_type("DRAPlugin");
    info->set_name(qos::kClassDriver);
    info->set_endpoint(endpoint_);
    info->add_supported_versions("v1.DRAPlugin");
    return Answered(under_way_, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* NotifyRegistrationStatus(
      grpc::CallbackServerContext*, const pluginregistration::RegistrationStatus* status,
      pluginregistration::RegistrationStatusResponse*) override {
    on_verdict_(status->plugin_registered(), status->error());
    return Answered(under_way_, grpc::Status::OK);
  }

  const std::string endpoint_;
  const std::function<void(bool, const std::string&)> on_verdict_;
  UnderWay& under_way_;
};

// One call about claims, whose parts run in the pool; the last one finishes it.
template <typename Response>
class ClaimsCall {
 public:
  ClaimsCall(PluginReactor* reactor, Response* response, size_t parts)
      : reactor_(reactor), response_(response), left_(parts) {}

  bool cancelled() const { return reactor_->cancelled(); }

  template <typename Part>
  void Add(const std::string& uid, Part part) {
    bool is_last = false;
    {
      const absl::MutexLock lock(&mutex_);
      (*response_->mutable_claims())[uid] = std::move(part);
      is_last = --left_ == 0;
    }
    if (is_last) reactor_->Finish(grpc::Status::OK);
  }

 private:
  PluginReactor* const reactor_;
  absl::Mutex mutex_;
  Response* const response_ ABSL_PT_GUARDED_BY(mutex_);
  size_t left_ ABSL_GUARDED_BY(mutex_);
};

dra::NodePrepareResourceResponse PartOf(const absl::StatusOr<std::vector<PluginDevice>>& prepared,
                                        const std::string& node) {
  dra::NodePrepareResourceResponse part;
  if (!prepared.ok()) {
    part.set_error(std::string(prepared.status().message()));
    return part;
  }
  for (const PluginDevice& each : *prepared) {
    dra::Device* const device = part.add_devices();
    device->add_request_names(each.request);
    device->set_pool_name(node);
    device->set_device_name(each.device);
    for (const std::string& name : each.cdi_names) device->add_cdi_device_ids(name);
    if (!each.share_id.empty()) device->set_share_id(each.share_id);
  }
  return part;
}

dra::NodeUnprepareResourceResponse PartOf(const absl::Status& unprepared) {
  dra::NodeUnprepareResourceResponse part;
  if (!unprepared.ok()) part.set_error(std::string(unprepared.message()));
  return part;
}

class DraService final : public dra::DRAPlugin::CallbackService {
 public:
  DraService(const PluginServerOptions& options, UnderWay& under_way)
      : node_(options.node),
        claims_(*options.claims),
        on_call_(options.on_call),
        under_way_(under_way) {}

  PluginCounts counts() const {
    return {prepared_, prepare_failures_, unprepared_, unprepare_failures_};
  }

 private:
  grpc::ServerUnaryReactor* NodePrepareResources(
      grpc::CallbackServerContext*, const dra::NodePrepareResourcesRequest* request,
      dra::NodePrepareResourcesResponse* response) override {
    return Run(*request, response, [this](const ClaimRef& claim, bool begins) {
      absl::StatusOr<std::vector<PluginDevice>> prepared =
          begins ? claims_.Prepare(claim) : absl::StatusOr<std::vector<PluginDevice>>(Busy(claim));
      ++(prepared.ok() ? prepared_ : prepare_failures_);
      return PartOf(prepared, node_);
    });
  }

  grpc::ServerUnaryReactor* NodeUnprepareResources(
      grpc::CallbackServerContext*, const dra::NodeUnprepareResourcesRequest* request,
      dra::NodeUnprepareResourcesResponse* response) override {
    return Run(*request, response, [this](const ClaimRef& claim, bool begins) {
      const absl::Status unprepared = begins ? claims_.Unprepare(claim) : Busy(claim);
      ++(unprepared.ok() ? unprepared_ : unprepare_failures_);
      return PartOf(unprepared);
    });
  }

  static absl::Status Busy(const ClaimRef& claim) {
    return absl::ResourceExhaustedError(absl::StrCat(
        Display(claim), ": too many claims at once, or kubelet has given up; ", "it tries again"));
  }

  // Calls `work(claim, begins)` for each of the request's claims, and answers with its results.
  // `begins` is false where the claim has to be left as it is.
  template <typename Request, typename Response, typename Work>
  grpc::ServerUnaryReactor* Run(const Request& request, Response* response, Work work) {
    if (on_call_) on_call_();
    // A claim named twice is prepared once: the answer is by uid.
    std::map<std::string, ClaimRef> claims;
    for (const dra::Claim& each : request.claims()) {
      claims[each.uid()] = {each.namespace_(), each.name(), each.uid()};
    }
    if (request.claims_size() > kMaxClaims) {
      return Answered(under_way_, {grpc::StatusCode::INVALID_ARGUMENT,
                                   absl::StrCat(request.claims_size(),
                                                " claims in one call; at most ", kMaxClaims)});
    }
    if (claims.empty()) return Answered(under_way_, grpc::Status::OK);
    auto* const reactor = new PluginReactor(under_way_);
    const auto call = std::make_shared<ClaimsCall<Response>>(reactor, response, claims.size());
    for (auto& [uid, claim] : claims) {
      const bool queued = pool_.TrySchedule(
          [call, work, claim = claim] { call->Add(claim.uid, work(claim, !call->cancelled())); });
      if (!queued) call->Add(uid, work(claim, false));
    }
    return reactor;
  }

  const std::string node_;
  Claims& claims_;
  const std::function<void()> on_call_;
  UnderWay& under_way_;
  std::atomic<uint64_t> prepared_ = 0, prepare_failures_ = 0;
  std::atomic<uint64_t> unprepared_ = 0, unprepare_failures_ = 0;
  WorkerPool pool_{kThreads, kMaxQueued};
};

class GrpcPluginServer final : public PluginServer {
 public:
  explicit GrpcPluginServer(PluginServerOptions options)
      : options_(std::move(options)),
        registration_(options_, under_way_),
        dra_(options_, under_way_),
        health_(options_.node, *options_.board) {}

  ~GrpcPluginServer() override {
    front_.reset();
    if (server_ == nullptr) return;
    health_.End(kStreamPatience);
    if (!under_way_.AwaitNone(options_.grace) && options_.abandon) options_.abandon();
    server_->Shutdown(absl::ToChronoTime(absl::Now()));
    server_->Wait();
  }

  absl::Status Listen() {
    grpc::ServerBuilder builder;
    grpc::ResourceQuota quota("plimsoll-kube");
    quota.Resize(kMaxBufferBytes);
    builder.SetResourceQuota(quota);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.RegisterService(&registration_);
    builder.RegisterService(&dra_);
    builder.RegisterService(&health_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError("can't start the plugin's server");
    // kubelet looks for the driver's socket as soon as it finds the other.
    std::vector<FrontSocket> sockets;
    for (PluginSocket* each : {&options_.driver, &options_.registration}) {
      sockets.push_back({each->path, std::move(each->listener)});
    }
    const auto serve = [this](UniqueFd connection) {
      grpc::AddInsecureChannelFromFd(server_.get(), connection.Release());
    };
    PLIMSOLL_ASSIGN_OR_RETURN(front_,
                              SocketFront::Start(std::move(sockets), serve, options_.tell_socket));
    return absl::OkStatus();
  }

  PluginCounts counts() const override { return dra_.counts(); }

 private:
  PluginServerOptions options_;
  UnderWay under_way_;
  RegistrationService registration_;
  DraService dra_;
  HealthStreams health_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<SocketFront> front_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<PluginServer>> PluginServer::Start(PluginServerOptions options) {
  auto server = std::make_unique<GrpcPluginServer>(std::move(options));
  PLIMSOLL_RETURN_IF_ERROR(Annotate(server->Listen(), "sockets for kubelet"));
  return std::unique_ptr<PluginServer>(std::move(server));
}

}  // namespace plimsoll::kube
