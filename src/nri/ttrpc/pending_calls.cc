#include "nri/ttrpc/pending_calls.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::nri {
namespace {

// Calls given up whose answers are still welcome. A peer that owes more has long been struck out.
constexpr size_t kMaxGivenUp = 4096;

}  // namespace

absl::Status EndedFor(const absl::Status& why) {
  if (why.ok()) return absl::UnavailableError("the connection is closed");
  return absl::UnavailableError(absl::StrCat("the connection has ended: ", why.message()));
}

absl::StatusOr<uint32_t> PendingCalls::Begin() {
  absl::MutexLock lock(&mutex_);
  if (is_ended_) return EndedFor(why_);
  if (next_ == std::numeric_limits<uint32_t>::max()) {
    return absl::UnavailableError("the connection has used up its stream ids: connect again");
  }
  const uint32_t stream = next_;
  next_ += 2;
  calls_[stream];
  return stream;
}

absl::StatusOr<Message> PendingCalls::Await(uint32_t stream, SteadyTime deadline) {
  absl::MutexLock lock(&mutex_);
  const auto call = calls_.find(stream);
  const auto is_over = [this, call]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return call->second.has_value() || is_ended_;
  };
  mutex_.AwaitWithTimeout(absl::Condition(&is_over), TimeUntil(deadline));
  std::optional<Message> answer = std::move(call->second);
  calls_.erase(call);
  if (answer.has_value()) return *std::move(answer);
  if (is_ended_) return EndedFor(why_);
  given_up_.insert(stream);
  if (given_up_.size() > kMaxGivenUp) given_up_.erase(given_up_.begin());
  return absl::DeadlineExceededError("the other side didn't answer in time");
}

void PendingCalls::Forget(uint32_t stream) {
  absl::MutexLock lock(&mutex_);
  calls_.erase(stream);
}

absl::Status PendingCalls::Answer(Message message) {
  absl::MutexLock lock(&mutex_);
  const auto call = calls_.find(message.stream);
  if (call == calls_.end() || call->second.has_value()) {
    if (given_up_.erase(message.stream) == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("a response on stream ", message.stream, ", on which no call waits for one"));
  }
  call->second = std::move(message);
  return absl::OkStatus();
}

void PendingCalls::End(const absl::Status& why) {
  absl::MutexLock lock(&mutex_);
  is_ended_ = true;
  why_ = why;
}

}  // namespace plimsoll::nri
