#include "streaming/delivery.h"

#include "absl/time/time.h"

namespace plimsoll::streaming {

bool Delivery::Moves(uint64_t unsent, const LinkLimits& limits) {
  const auto now = std::chrono::steady_clock::now();
  const uint64_t taken = passed_ - unsent;
  if (!leaving_.has_value()) leaving_ = Leaving{now, now, taken};
  if (taken != leaving_->taken) {
    leaving_->taken = taken;
    leaving_->moved = now;
  }
  return absl::FromChrono(now - leaving_->moved) < limits.leave &&
         absl::FromChrono(now - leaving_->since) < limits.idle;
}

}  // namespace plimsoll::streaming
