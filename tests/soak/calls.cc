#include "soak/calls.h"

namespace plimsoll::testing {

void Calls::Judge(const char* name, absl::Duration took, const grpc::Status& status,
                  const std::set<grpc::StatusCode>& expected) {
  const std::string what =
      status.ok() ? "ok" : absl::StrCat("code ", status.error_code(), ": ", status.error_message());
  journal_->Call(name, took, !status.ok());
  Note(absl::StrCat(name, ": ", what));
  if (!expected.contains(status.error_code())) Fault(absl::StrCat(name, " gave ", what));
}

}  // namespace plimsoll::testing
