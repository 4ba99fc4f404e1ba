#include "kube/publish/pace.h"

#include <utility>

namespace plimsoll::kube {
namespace {

RetryDelayOptions ConstantDelay(absl::Duration wait, const std::function<double()>& jitter) {
  return {.first = wait, .longest = wait, .jitter = jitter};
}

}  // namespace

Pace::Pace(PaceOptions options)
    : options_(std::move(options)),
      retry_({.first = options_.first_retry,
              .longest = options_.longest_retry,
              .jitter = options_.jitter}),
      refused_(ConstantDelay(options_.refused, options_.jitter)),
      absent_(ConstantDelay(options_.absent, options_.jitter)),
      next_(SteadyTime::min()) {}

void Pace::Wrote(SteadyTime now) {
  retry_.Reset();
  next_ = now + absl::ToChronoNanoseconds(options_.rest);
}

absl::Duration Pace::Failed(const absl::Status& status, SteadyTime now) {
  absl::Duration wait;
  switch (status.code()) {
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kInvalidArgument:
      wait = refused_.Next();
      break;
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kFailedPrecondition:
      wait = absent_.Next();
      break;
    default:
      wait = retry_.Next();
  }
  next_ = now + absl::ToChronoNanoseconds(wait);
  return wait;
}

}  // namespace plimsoll::kube
