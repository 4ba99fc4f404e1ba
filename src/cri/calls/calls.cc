#include "cri/calls/calls.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::cri {

MethodName SplitMethod(absl::string_view method) {
  const size_t slash = method.rfind('/');
  if (slash == absl::string_view::npos) return {"", method};
  const absl::string_view full = method.substr(0, slash);
  return {full.substr(full.find_last_of("./") + 1), method.substr(slash + 1)};
}

absl::Status Calls::Unsupported(absl::string_view method, absl::string_view why) {
  // kubelet and its tests look for these words, which are those of gRPC's Go servers.
  return absl::UnimplementedError(
      absl::StrCat("method ", method.substr(method.rfind('/') + 1), " not implemented: ", why));
}

void Calls::Observe(absl::string_view method, absl::Time start, const absl::Status& status,
                    std::string object) const {
  if (!options_.observer) return;
  options_.observer({method, static_cast<grpc::StatusCode>(status.raw_code()), absl::Now() - start,
                     status.message(), std::move(object)});
}

}  // namespace plimsoll::cri
