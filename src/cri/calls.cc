#include "cri/calls.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::cri {

absl::Status Calls::Unsupported(absl::string_view method, absl::string_view why) {
  return absl::UnimplementedError(
      absl::StrCat(method.substr(method.rfind('/') + 1),
                   " is not supported by this version of Plimsoll: ", why));
}

void Calls::Observe(absl::string_view method, absl::Time start, const absl::Status& status,
                    std::string object) const {
  if (!options_.observer) return;
  options_.observer({method, static_cast<grpc::StatusCode>(status.raw_code()), absl::Now() - start,
                     status.message(), std::move(object)});
}

}  // namespace plimsoll::cri
