// The CRI's RPCs about commands and streams: ExecSync, Exec, Attach, PortForward.
#ifndef PLIMSOLL_CRI_COMMAND_RPCS_H_
#define PLIMSOLL_CRI_COMMAND_RPCS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_budget.h"
#include "cri/calls/calls.h"
#include "cri/exec_answer.h"
#include "cri/runtime/v1/api.pb.h"
#include "runtime/engine.h"
#include "streaming/server.h"
#include "streaming/tokens.h"

namespace plimsoll::cri {

// Thread-safe; every method may block. Errors are those that the client sees.
class CommandRpcs {
 public:
  // Both outlive it. `streaming`: null where streams aren't served.
  CommandRpcs(runtime::Engine* engine, streaming::Server* streaming)
      : engine_(engine), streaming_(streaming) {}

  // A command without a timeout gets the client's deadline: no client waits longer. `response`: a
  // serialized ExecSyncResponse.
  absl::Status ExecSync(const CallContext& call, const ::runtime::v1::ExecSyncRequest& request,
                        grpc::ByteBuffer* response);
  // Each of these answers with a URL, for one connection. UNIMPLEMENTED without a streaming server.
  absl::Status Exec(const ::runtime::v1::ExecRequest& request,
                    ::runtime::v1::ExecResponse* response);
  absl::Status Attach(const ::runtime::v1::AttachRequest& request,
                      ::runtime::v1::AttachResponse* response);
  absl::Status PortForward(const ::runtime::v1::PortForwardRequest& request,
                           ::runtime::v1::PortForwardResponse* response);

 private:
  absl::StatusOr<std::string> Admit(streaming::StreamRequest request);

  runtime::Engine* const engine_;
  streaming::Server* const streaming_;
  const std::shared_ptr<ByteBudget> output_ = std::make_shared<ByteBudget>(kAllExecOutputBytes);
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_COMMAND_RPCS_H_
