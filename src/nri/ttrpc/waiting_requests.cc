#include "nri/ttrpc/waiting_requests.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::nri {

absl::Status WaitingRequests::Push(Message message) {
  absl::MutexLock lock(&mutex_);
  if (is_ended_) return absl::OkStatus();
  if (waiting_.size() >= max_requests_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the other side made a call while ", max_requests_,
                     " of its calls were waiting, the most that may"));
  }
  if (message.body.size() > kMaxBytes - bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the other side made a call of ", message.body.size(), " bytes while ", bytes_,
                     " of its calls were waiting; ", kMaxBytes, " may"));
  }
  bytes_ += message.body.size();
  waiting_.push_back(std::move(message));
  return absl::OkStatus();
}

std::optional<Message> WaitingRequests::Pop() {
  absl::MutexLock lock(&mutex_);
  const auto is_ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return is_ended_ || !waiting_.empty();
  };
  mutex_.Await(absl::Condition(&is_ready));
  if (is_ended_) return std::nullopt;
  Message message = std::move(waiting_.front());
  waiting_.pop_front();
  bytes_ -= message.body.size();
  return message;
}

void WaitingRequests::End() {
  absl::MutexLock lock(&mutex_);
  is_ended_ = true;
  waiting_.clear();
}

}  // namespace plimsoll::nri
