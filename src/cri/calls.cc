#include "cri/calls.h"

#include "absl/strings/str_cat.h"

namespace plimsoll::cri {

absl::Status Calls::Schedule(Lane lane, std::function<void()> work) {
  WorkerPool& pool = lane == Lane::kQuick ? quick_ : slow_;
  if (pool.TrySchedule(std::move(work))) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("too many calls at once: ", options_.max_queued,
                                                   " are waiting already; try again later"));
}

absl::Status Calls::Unsupported(absl::string_view method, absl::string_view why) {
  return absl::UnimplementedError(
      absl::StrCat(method.substr(method.rfind('/') + 1),
                   " is not supported by this version of Plimsoll: ", why));
}

void Calls::Observe(absl::string_view method, absl::Time start, const absl::Status& status) const {
  if (!options_.observer) return;
  options_.observer(method, static_cast<grpc::StatusCode>(status.raw_code()), absl::Now() - start);
}

}  // namespace plimsoll::cri
