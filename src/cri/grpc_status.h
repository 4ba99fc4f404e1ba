// The one place where the project's errors become gRPC's.
#ifndef PLIMSOLL_CRI_GRPC_STATUS_H_
#define PLIMSOLL_CRI_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cri {

// Code and message; the codes have the same numbers. It travels in HTTP/2 trailers, which clients
// limit, some to 8 KiB, and where what is not printable ASCII takes three bytes for one. A message
// over 4 KiB of that loses its middle, since it may quote something long before it says why.
grpc::Status ToGrpcStatus(const absl::Status& status);

// "INVALID_ARGUMENT", for logs and metrics.
absl::string_view CodeName(grpc::StatusCode code);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_GRPC_STATUS_H_
