#include "daemon/telemetry/slow_question.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace plimsoll::daemon {

absl::Status SlowQuestion::Ask() {
  absl::MutexLock lock(&mutex_);
  if (!asking_) {
    since_ = absl::Now();
    asking_ = pool_.TrySchedule([this] { Run(); });
    if (!asking_) return absl::UnavailableError(absl::StrCat("no thread to find out: ", what_));
  }
  const auto is_answered = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return !asking_; };
  if (mutex_.AwaitWithTimeout(absl::Condition(&is_answered), patience_)) return answer_;
  return absl::UnavailableError(absl::StrCat(
      what_, " for ", absl::FormatDuration(absl::Trunc(absl::Now() - since_, absl::Seconds(1)))));
}

void SlowQuestion::Run() {
  absl::Status answer = ask_();
  absl::MutexLock lock(&mutex_);
  answer_ = std::move(answer);
  asking_ = false;
}

}  // namespace plimsoll::daemon
