#include "cri/calls.h"

#include "absl/strings/str_cat.h"

namespace plimsoll::cri {

absl::Status Calls::Schedule(Lane lane, std::function<void()> work) {
  {
    absl::MutexLock lock(&mutex_);
    if (draining_) return absl::UnavailableError("the daemon is stopping; try again later");
    ++accepted_;
  }
  const auto done = [this] {
    absl::MutexLock lock(&mutex_);
    --accepted_;
  };
  WorkerPool& pool = lane == Lane::kQuick ? quick_ : slow_;
  const bool scheduled = pool.TrySchedule([work = std::move(work), done] {
    work();
    done();
  });
  if (scheduled) return absl::OkStatus();
  done();
  return absl::ResourceExhaustedError(absl::StrCat("too many calls at once: ", options_.max_queued,
                                                   " are waiting already; try again later"));
}

bool Calls::Drain(absl::Time deadline) {
  absl::MutexLock lock(&mutex_);
  draining_ = true;
  const auto idle = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return accepted_ == 0; };
  return mutex_.AwaitWithDeadline(absl::Condition(&idle), deadline);
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
