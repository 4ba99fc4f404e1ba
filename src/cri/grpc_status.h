// The one place where the project's errors become gRPC's.
#ifndef PLIMSOLL_CRI_GRPC_STATUS_H_
#define PLIMSOLL_CRI_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cri {

// Code and message; the codes have the same numbers. A message over 16 KiB is cut: it travels in
// HTTP/2 trailers, which clients limit.
grpc::Status ToGrpcStatus(const absl::Status& status);

// "INVALID_ARGUMENT", for logs and metrics.
absl::string_view CodeName(grpc::StatusCode code);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_GRPC_STATUS_H_
