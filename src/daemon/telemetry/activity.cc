#include "daemon/telemetry/activity.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "cri/calls/grpc_status.h"

namespace plimsoll::daemon {
namespace {

// Failures of the daemon are errors; a client's futile calls are logged too, but not looks for
// missing objects, nor calls of clients that left.
LogLevel LevelOf(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::CANCELLED:
    case grpc::StatusCode::UNIMPLEMENTED:
      return LogLevel::kDebug;
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::DATA_LOSS:
    case grpc::StatusCode::UNKNOWN:
      return LogLevel::kError;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return LogLevel::kWarning;
    default:
      return LogLevel::kInfo;
  }
}

}  // namespace

void Activity::OnRequest(absl::string_view method, const std::string& request) {
  log_->WriteLimited(LogLevel::kDebug, "request",
                     {{"method", std::string(method)}, {"request", request}});
}

void Activity::OnCall(const cri::FinishedCall& call) {
  const cri::MethodName method = cri::SplitMethod(call.method);
  const std::string name(method.name);
  const std::string code_name(cri::CodeName(call.code));
  metrics_->ObserveRpc(method.service, method.name, code_name, call.latency);
  const bool ok = call.code == grpc::StatusCode::OK;
  std::vector<LogField> fields = {
      {"method", name},
      {"code", code_name},
      {"milliseconds", absl::StrCat(absl::ToDoubleMilliseconds(call.latency))}};
  if (!call.object.empty()) fields.push_back({"object", call.object});
  if (!ok) fields.push_back({"error", std::string(call.message)});
  log_->WriteLimited(LevelOf(call.code), ok ? "call" : "call failed", fields);
}

void Activity::Count(const runtime::Event& event, const runtime::EventSubject& subject) {
  metrics_->ObserveEvent(runtime::EventTypeName(event.type));
  if (event.type == runtime::EventType::kSandboxStarted && subject.sandbox != nullptr) {
    metrics_->ObserveSandboxStart(subject.sandbox->spec.attempt);
  }
  if (subject.container == nullptr) return;
  if (event.type == runtime::EventType::kContainerStarted) {
    metrics_->ObserveContainerStart(subject.container->spec.attempt);
  } else if (event.type == runtime::EventType::kContainerStopped) {
    metrics_->ObserveContainerExit(subject.container->reason);
  }
}

void Activity::OnEvent(const runtime::Event& event, const runtime::EventSubject& subject) {
  Count(event, subject);
  const char* type = runtime::EventTypeName(event.type);
  const bool bad =
      event.type == runtime::EventType::kWarning || event.type == runtime::EventType::kContainerOom;
  std::vector<LogField> fields = {{"event", type}};
  if (!event.sandbox_id.empty()) fields.push_back({"sandbox", event.sandbox_id});
  if (!event.container_id.empty()) fields.push_back({"container", event.container_id});
  log_->WriteLimited(bad ? LogLevel::kWarning : LogLevel::kInfo,
                     event.message.empty() ? type : event.message, fields);
}

void Activity::OnExhausted(const cri::LaneState& lane) {
  const RateLimit::Decision decision = exhausted_log_.Ask();
  if (!decision.pass) return;
  std::vector<LogField> fields = {{"calls", cri::LaneName(lane.lane)},
                                  {"workers", absl::StrCat(lane.workers)},
                                  {"waiting", absl::StrCat(lane.waiting)}};
  if (decision.held_back > 0) {
    fields.push_back({"more_since_last", absl::StrCat(decision.held_back)});
  }
  log_->Write(LogLevel::kWarning, "all workers for calls of this kind are taken; more wait",
              fields);
}

}  // namespace plimsoll::daemon
