#include "network/turns.h"

#include "absl/strings/str_cat.h"

namespace plimsoll::network {

Turns::Turn Turns::Take(const std::string& id) {
  absl::MutexLock lock(&mutex_);
  const auto is_free = [this, &id]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !is_for_all_ && !taken_.contains(id);
  };
  mutex_.Await(absl::Condition(&is_free));
  taken_.insert(id);
  return Turn(this, id);
}

absl::StatusOr<Turns::Turn> Turns::TakeAll(absl::Duration patience) {
  absl::MutexLock lock(&mutex_);
  const auto is_free = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return !is_for_all_ && taken_.empty();
  };
  if (!mutex_.AwaitWithTimeout(absl::Condition(&is_free), patience)) {
    return absl::UnavailableError(absl::StrCat("network plugins are under way for ", taken_.size(),
                                               " pods after ", absl::FormatDuration(patience)));
  }
  is_for_all_ = true;
  return Turn(this, "");
}

void Turns::End(const std::string& id) {
  absl::MutexLock lock(&mutex_);
  if (id.empty()) {
    is_for_all_ = false;
  } else {
    taken_.erase(id);
  }
}

}  // namespace plimsoll::network
