// The answer to ExecSync. A command's output is the largest thing a client can make the daemon
// hold.
#ifndef PLIMSOLL_CRI_EXEC_ANSWER_H_
#define PLIMSOLL_CRI_EXEC_ANSWER_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>

#include "base/byte_budget.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::cri {

// Limit for both streams of one command together: kubelet's client takes messages of at most 16
// MiB, which must also hold the note that output was cut.
inline constexpr size_t kMaxExecOutputBytes = (16 << 20) - 4096;
// Limit for all commands at once, until their answers have left.
inline constexpr size_t kAllExecOutputBytes = 32 << 20;

// A serialized ExecSyncResponse that copies nothing. `share` is held until gRPC has sent or dropped
// it.
grpc::ByteBuffer ExecSyncAnswer(runtime::ExecResult result, std::shared_ptr<ByteShare> share);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_EXEC_ANSWER_H_
