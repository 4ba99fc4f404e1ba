// The one place where the project's errors become gRPC's.
#ifndef PLIMSOLL_CRI_CALLS_GRPC_STATUS_H_
#define PLIMSOLL_CRI_CALLS_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::cri {

// Keeps code and message; the codes have the same numbers. The message travels in HTTP/2 trailers,
// where a byte that isn't printable ASCII takes three, and which clients limit, some to 8 KiB. One
// over 4 KiB loses its middle, since it may quote something long before it says why.
grpc::Status ToGrpcStatus(const absl::Status& status);

// "INVALID_ARGUMENT", for logs and metrics.
absl::string_view CodeName(grpc::StatusCode code);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_CALLS_GRPC_STATUS_H_
