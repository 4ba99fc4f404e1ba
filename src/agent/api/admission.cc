#include "agent/api/admission.h"

namespace plimsoll::agent {

bool Admission::Enter() {
  absl::MutexLock lock(&mutex_);
  while (!stopped_ && entered_ >= connections_) changed_.WaitWithTimeout(&mutex_, MakeRoom());
  if (stopped_) return false;
  ++entered_;
  return true;
}

absl::Duration Admission::MakeRoom() {
  if (idle_.empty()) return absl::InfiniteDuration();
  const absl::Duration left = TimeUntil(idle_.front().since) + idle_enough_;
  if (left > absl::ZeroDuration()) return left;
  idle_.front().connection->RefuseMore();
  idle_.pop_front();
  return absl::InfiniteDuration();  // its thread leaves at once
}

void Admission::Leave() {
  absl::MutexLock lock(&mutex_);
  --entered_;
  changed_.SignalAll();
}

void Admission::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  changed_.SignalAll();
}

Admission::Idle::Idle(Admission* admission, const Connection* connection)
    : admission_(admission), connection_(connection) {
  absl::MutexLock lock(&admission_->mutex_);
  admission_->idle_.push_back({connection, SteadyNow()});
  admission_->changed_.SignalAll();
}

Admission::Idle::~Idle() {
  absl::MutexLock lock(&admission_->mutex_);
  admission_->idle_.remove_if(
      [this](const IdleSince& each) { return each.connection == connection_; });
}

bool Admission::BeginStream() {
  absl::MutexLock lock(&mutex_);
  if (streaming_ >= streams_) return false;
  ++streaming_;
  return true;
}

void Admission::EndStream() {
  absl::MutexLock lock(&mutex_);
  --streaming_;
}

}  // namespace plimsoll::agent
