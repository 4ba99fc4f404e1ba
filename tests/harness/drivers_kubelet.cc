#include "harness/drivers_kubelet.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "harness/kernel.h"

namespace plimsoll::testing {
namespace {

namespace dra = ::k8s::io::kubelet::pkg::apis::dra::v1;

template <typename Service>
std::unique_ptr<typename Service::Stub> StubAt(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return Service::NewStub(
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments));
}

// kubelet's own is 45 s.
void Limit(grpc::ClientContext& context) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + Patience(absl::Seconds(45))));
}

template <typename Request>
Request RequestFor(const ClaimName& claim) {
  Request request;
  dra::Claim* const added = request.add_claims();
  added->set_namespace_(claim.claim_namespace);
  added->set_name(claim.name);
  added->set_uid(claim.uid);
  return request;
}

std::string TextOf(const grpc::Status& status) {
  return absl::StrCat("call failed: ", status.error_message());
}

}  // namespace

grpc::Status DriversKubelet::Register() {
  const auto stub = StubAt<pluginregistration::Registration>(registration_socket());
  grpc::ClientContext asking;
  Limit(asking);
  const grpc::Status asked = stub->GetInfo(&asking, {}, &info_);
  if (!asked.ok()) return asked;
  grpc::ClientContext telling;
  Limit(telling);
  pluginregistration::RegistrationStatus status;
  status.set_plugin_registered(true);
  pluginregistration::RegistrationStatusResponse response;
  return stub->NotifyRegistrationStatus(&telling, status, &response);
}

std::string DriversKubelet::Prepare(const ClaimName& claim, Prepared* prepared) {
  grpc::ClientContext context;
  Limit(context);
  dra::NodePrepareResourcesResponse response;
  const grpc::Status status =
      StubAt<dra::DRAPlugin>(info_.endpoint())
          ->NodePrepareResources(&context, RequestFor<dra::NodePrepareResourcesRequest>(claim),
                                 &response);
  if (!status.ok()) return TextOf(status);
  const auto found = response.claims().find(claim.uid);
  if (found == response.claims().end()) return "the claim isn't in the answer";
  prepared->clear();
  for (const dra::Device& device : found->second.devices()) {
    for (const std::string& request : device.request_names()) {
      std::vector<std::string>& names = (*prepared)[request];
      names.insert(names.end(), device.cdi_device_ids().begin(), device.cdi_device_ids().end());
    }
  }
  return found->second.error();
}

std::string DriversKubelet::Unprepare(const ClaimName& claim) {
  grpc::ClientContext context;
  Limit(context);
  dra::NodeUnprepareResourcesResponse response;
  const grpc::Status status =
      StubAt<dra::DRAPlugin>(info_.endpoint())
          ->NodeUnprepareResources(&context, RequestFor<dra::NodeUnprepareResourcesRequest>(claim),
                                   &response);
  if (!status.ok()) return TextOf(status);
  const auto found = response.claims().find(claim.uid);
  return found == response.claims().end() ? "the claim isn't in the answer" : found->second.error();
}

v1alpha1::HealthStatus DriversKubelet::Health(const std::string& device) {
  grpc::ClientContext context;
  Limit(context);
  const auto stub = StubAt<v1alpha1::DRAResourceHealth>(info_.endpoint());
  const auto stream = stub->NodeWatchResources(&context, {});
  v1alpha1::NodeWatchResourcesResponse response;
  const bool has_read = stream->Read(&response);
  context.TryCancel();
  static_cast<void>(stream->Finish());
  if (!has_read) return v1alpha1::UNKNOWN;
  for (const v1alpha1::DeviceHealth& each : response.devices()) {
    if (each.device().device_name() == device) return each.health();
  }
  return v1alpha1::UNKNOWN;
}

}  // namespace plimsoll::testing
