// Errors as Kubernetes' v1 Status objects.
#ifndef PLIMSOLL_AGENT_HTTP_STATUS_OBJECT_H_
#define PLIMSOLL_AGENT_HTTP_STATUS_OBJECT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace plimsoll::agent {

struct ApiError {
  int code = 500;      // of HTTP
  std::string reason;  // Kubernetes' StatusReason, or our own where it has none
  std::string message;
};

// `status` is an error. FAILED_PRECONDITION, ALREADY_EXISTS and ABORTED share HTTP's code 409; the
// reason distinguishes them.
ApiError ApiErrorOf(const absl::Status& status);
// {"kind": "Status", "status": "Failure", ...}
nlohmann::json StatusObject(const ApiError& error);

// The error that a response of this code with this body means: the inverse of ApiErrorOf. A body
// that is no Status becomes the message.
absl::Status StatusOfResponse(int code, absl::string_view body);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_HTTP_STATUS_OBJECT_H_
