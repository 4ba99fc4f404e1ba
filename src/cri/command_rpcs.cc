#include "cri/command_rpcs.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status.h"
#include "cri/messages/validate.h"
#include "runtime/objects/state_machine.h"
#include "streaming/server.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;

// A WebSocket message has one byte for its channel's number, and a port has two channels.
constexpr int kMaxPorts = 127;

// ExecRequest and AttachRequest share these fields.
template <typename Request>
absl::Status SetStreams(const Request& request, streaming::StreamRequest* stream) {
  if (!request.stdin() && !request.stdout() && !request.stderr()) {
    return Invalid("stdin, stdout and stderr", "false", "one of them must be true");
  }
  if (request.tty() && request.stderr()) {
    return Invalid("stderr", "true", "must be false with tty: a terminal has one output");
  }
  stream->input = request.stdin();
  stream->output = request.stdout();
  stream->errors = request.stderr();
  stream->terminal = request.tty();
  return absl::OkStatus();
}

}  // namespace

absl::Status CommandRpcs::ExecSync(const CallContext& call, const v1::ExecSyncRequest& request,
                                   grpc::ByteBuffer* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("container_id", request.container_id()));
  PLIMSOLL_RETURN_IF_ERROR(CheckCommand("cmd", request.cmd()));
  runtime::ExecRequest exec;
  exec.argv.assign(request.cmd().begin(), request.cmd().end());
  PLIMSOLL_ASSIGN_OR_RETURN(exec.timeout, SecondsFrom("timeout", request.timeout()));
  if (exec.timeout == absl::ZeroDuration() && call.deadline != absl::InfiniteFuture()) {
    exec.timeout = std::max(call.deadline - absl::Now(), absl::Milliseconds(1));
  }
  exec.cancellation = call.cancellation.get();
  exec.max_output_bytes = kMaxExecOutputBytes;
  const auto share = std::make_shared<ByteShare>(output_);
  exec.output_share = share.get();
  PLIMSOLL_ASSIGN_OR_RETURN(runtime::ExecResult result,
                            engine_->commands().ExecSync(request.container_id(), exec));
  *response = ExecSyncAnswer(std::move(result), share);
  return absl::OkStatus();
}

absl::StatusOr<std::string> CommandRpcs::Admit(streaming::StreamRequest request) {
  if (streaming_ == nullptr) {
    return absl::UnimplementedError(
        "there is no streaming server: the daemon's streaming.address is empty, or could not be "
        "listened on (its log says why)");
  }
  return streaming_->Admit(std::move(request));
}

absl::Status CommandRpcs::Exec(const v1::ExecRequest& request, v1::ExecResponse* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("container_id", request.container_id()));
  PLIMSOLL_RETURN_IF_ERROR(CheckCommand("cmd", request.cmd()));
  streaming::StreamRequest stream;
  stream.kind = streaming::StreamKind::kExec;
  PLIMSOLL_RETURN_IF_ERROR(SetStreams(request, &stream));
  PLIMSOLL_ASSIGN_OR_RETURN(const runtime::ContainerRecord record,
                            engine_->GetContainer(request.container_id()));
  if (record.state != runtime::ContainerState::kRunning) {
    return absl::FailedPreconditionError(absl::StrCat("container ", record.id, " is ",
                                                      runtime::StateName(record.state),
                                                      "; exec needs one that is Running"));
  }
  stream.id = record.id;
  stream.argv.assign(request.cmd().begin(), request.cmd().end());
  PLIMSOLL_ASSIGN_OR_RETURN(*response->mutable_url(), Admit(std::move(stream)));
  return absl::OkStatus();
}

absl::Status CommandRpcs::Attach(const v1::AttachRequest& request, v1::AttachResponse* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("container_id", request.container_id()));
  streaming::StreamRequest stream;
  stream.kind = streaming::StreamKind::kAttach;
  PLIMSOLL_RETURN_IF_ERROR(SetStreams(request, &stream));
  PLIMSOLL_ASSIGN_OR_RETURN(const runtime::ContainerRecord record,
                            engine_->GetContainer(request.container_id()));
  if (!runtime::HasProcess(record)) {
    return absl::FailedPreconditionError(
        absl::StrCat("container ", record.id, " is ", runtime::StateName(record.state),
                     "; attach needs one that is Created or Running and has a process"));
  }
  stream.id = record.id;
  PLIMSOLL_ASSIGN_OR_RETURN(*response->mutable_url(), Admit(std::move(stream)));
  return absl::OkStatus();
}

absl::Status CommandRpcs::PortForward(const v1::PortForwardRequest& request,
                                      v1::PortForwardResponse* response) {
  PLIMSOLL_RETURN_IF_ERROR(CheckId("pod_sandbox_id", request.pod_sandbox_id()));
  if (request.port_size() > kMaxPorts) {
    return Invalid("port", request.port_size(), "may be given at most 127 times");
  }
  streaming::StreamRequest stream;
  stream.kind = streaming::StreamKind::kPortForward;
  for (const int32_t port : request.port()) {
    if (port < 1 || port > 65535) return Invalid("port", port, "must be from 1 to 65535");
    stream.ports.push_back(static_cast<uint16_t>(port));
  }
  PLIMSOLL_ASSIGN_OR_RETURN(const runtime::SandboxRecord record,
                            engine_->GetSandbox(request.pod_sandbox_id()));
  if (record.state != runtime::SandboxState::kReady) {
    return absl::FailedPreconditionError(
        absl::StrCat("sandbox ", record.id, " is ", runtime::StateName(record.state),
                     "; forwarding of ports needs one that is Ready"));
  }
  stream.id = record.id;
  PLIMSOLL_ASSIGN_OR_RETURN(*response->mutable_url(), Admit(std::move(stream)));
  return absl::OkStatus();
}

}  // namespace plimsoll::cri
