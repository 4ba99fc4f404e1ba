// The answer to ExecSync, whose output is the largest thing that a client can make the daemon hold.
#ifndef PLIMSOLL_CRI_EXEC_ANSWER_H_
#define PLIMSOLL_CRI_EXEC_ANSWER_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <memory>

#include "base/byte_budget.h"
#include "runtime/oci/container_runtime.h"

namespace plimsoll::cri {

// Of both streams of one command: kubelet's client takes messages of at most 16 MiB, in which what
// says that they were cut has to fit too.
inline constexpr size_t kMaxExecOutputBytes = (16 << 20) - 4096;
// Of all commands at once, until their answers have left.
inline constexpr size_t kAllExecOutputBytes = 32 << 20;

// A serialized ExecSyncResponse, of which nothing is a copy. `share` is held until gRPC has sent it
// or given it up.
grpc::ByteBuffer ExecSyncAnswer(runtime::ExecResult result, std::shared_ptr<ByteShare> share);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_EXEC_ANSWER_H_
