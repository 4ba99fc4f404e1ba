#include "agent/device_manager/call_set.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/text/printable.h"

namespace plimsoll::agent {
namespace {

constexpr size_t kMaxErrorBytes = 1024;

absl::string_view GoName(grpc::StatusCode code) {
  static constexpr std::array<absl::string_view, 17> kNames = {
      "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
      "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
      "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
      "DataLoss", "Unauthenticated"};
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : "Unknown";
}

}  // namespace

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  const std::string message =
      absl::StrCat("rpc error: code = ", GoName(status.error_code()),
                   " desc = ", Printable(status.error_message().substr(0, kMaxErrorBytes)));
  // A call of ours is cancelled only because the plugin is given up.
  if (status.error_code() == grpc::StatusCode::CANCELLED) return absl::UnavailableError(message);
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), message);
}

}  // namespace plimsoll::agent
