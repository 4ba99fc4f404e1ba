#include "agent/probes/grpc_health.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "grpc/health/v1/health.grpc.pb.h"

namespace plimsoll::agent {
namespace {

namespace health = ::grpc::health::v1;

constexpr absl::Duration kLookAtCall = absl::Milliseconds(50);
constexpr char kUserAgent[] = "kube-probe/plimsoll";

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix(kUserAgent);
  // A probe tries again, and a proxy of the agent's environment isn't meant for pods.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return grpc::CreateCustomChannel(absl::StrCat("dns:///", address),
                                   grpc::InsecureChannelCredentials(), arguments);
}

ProbeOutcome FailedCall(const grpc::Status& status, const std::string& address,
                        absl::Duration timeout) {
  std::string words;
  switch (status.error_code()) {
    case grpc::StatusCode::UNIMPLEMENTED:
      words = "this server does not implement the grpc health protocol (grpc.health.v1.Health)";
      break;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      words = absl::StrCat("timeout: health rpc did not complete within ",
                           absl::FormatDuration(timeout));
      break;
    case grpc::StatusCode::UNAVAILABLE:
      words = absl::StrCat("failed to connect service \"", address, "\": ", status.error_message());
      break;
    default:
      words = absl::StrCat("health rpc failed: ", status.error_message());
  }
  return {ProbeOutcome::Result::kFailure, words};
}

}  // namespace

ProbeOutcome CheckGrpcHealth(const std::string& address, const std::string& service,
                             absl::Duration timeout, const std::function<bool()>& given_up) {
  const auto stub = health::Health::NewStub(ChannelTo(address));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
  health::HealthCheckRequest request;
  request.set_service(service);
  health::HealthCheckResponse response;
  grpc::Status status;
  grpc::CompletionQueue queue;
  const auto call = stub->AsyncCheck(&context, request, &queue);
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  while (
      queue.AsyncNext(&tag, &ok,
                      std::chrono::system_clock::now() + absl::ToChronoMilliseconds(kLookAtCall)) ==
      grpc::CompletionQueue::TIMEOUT) {
    if (given_up()) context.TryCancel();
  }
  if (given_up()) return {ProbeOutcome::Result::kUnknown, "given up"};
  if (!status.ok()) return FailedCall(status, address, timeout);
  if (response.status() == health::HealthCheckResponse::SERVING) {
    return {ProbeOutcome::Result::kSuccess, "service healthy"};
  }
  return {ProbeOutcome::Result::kFailure,
          absl::StrCat("service unhealthy (responded with \"",
                       health::HealthCheckResponse::ServingStatus_Name(response.status()), "\")")};
}

}  // namespace plimsoll::agent
