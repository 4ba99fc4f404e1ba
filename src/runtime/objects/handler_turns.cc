#include "runtime/objects/handler_turns.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::runtime {

bool HandlerTurns::IsCalledOff(const std::string& id) const {
  return called_off_.contains(id) || called_off_.contains(pod_);
}

HandlerTurn::HandlerTurn(std::shared_ptr<HandlerTurns> turns, std::string id)
    : turns_(std::move(turns)), id_(std::move(id)) {
  absl::MutexLock lock(&turns_->mutex_);
  const auto may_go_on = [this]() ABSL_SHARED_LOCKS_REQUIRED(turns_->mutex_) {
    return turns_->holder_ == nullptr || turns_->IsCalledOff(id_);
  };
  turns_->mutex_.Await(absl::Condition(&may_go_on));
  if (turns_->IsCalledOff(id_)) {
    cancellation_.Cancel();
  } else {
    turns_->holder_ = this;
  }
}

HandlerTurn::~HandlerTurn() {
  absl::MutexLock lock(&turns_->mutex_);
  if (turns_->holder_ == this) turns_->holder_ = nullptr;
}

absl::Status HandlerTurn::status() const {
  if (!cancellation_.cancelled()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cancelled: ", id_ == turns_->pod_ ? "it" : "it or its pod",
                   " is being stopped or removed, or the daemon is ending; nothing has changed"));
}

CallOff::CallOff(std::shared_ptr<HandlerTurns> turns, std::string id)
    : turns_(std::move(turns)), id_(std::move(id)) {
  if (turns_ == nullptr) return;
  absl::MutexLock lock(&turns_->mutex_);
  ++turns_->called_off_[id_];
  HandlerTurn* const holder = turns_->holder_;
  if (holder != nullptr && turns_->IsCalledOff(holder->id_)) holder->cancellation_.Cancel();
}

CallOff::~CallOff() {
  if (turns_ == nullptr) return;
  absl::MutexLock lock(&turns_->mutex_);
  const auto mine = turns_->called_off_.find(id_);
  if (--mine->second == 0) turns_->called_off_.erase(mine);
}

void CallOff::AwaitEnd() const {
  if (turns_ == nullptr) return;
  absl::MutexLock lock(&turns_->mutex_);
  const auto has_ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(turns_->mutex_) {
    return turns_->holder_ == nullptr || !turns_->IsCalledOff(turns_->holder_->id_);
  };
  turns_->mutex_.Await(absl::Condition(&has_ended));
}

}  // namespace plimsoll::runtime
