#include "agent/api/connection_places.h"

namespace plimsoll::agent {

bool ConnectionPlaces::Enter() {
  absl::MutexLock lock(&mutex_);
  while (!stopped_ && entered_ >= connections_) changed_.WaitWithTimeout(&mutex_, MakeRoom());
  if (stopped_) return false;
  ++entered_;
  return true;
}

absl::Duration ConnectionPlaces::MakeRoom() {
  if (idle_.empty()) return absl::InfiniteDuration();
  const absl::Duration left = TimeUntil(idle_.front().since) + idle_enough_;
  if (left > absl::ZeroDuration()) return left;
  idle_.front().connection->RefuseMore();
  idle_.pop_front();
  return absl::InfiniteDuration();  // its thread leaves at once
}

void ConnectionPlaces::Leave() {
  absl::MutexLock lock(&mutex_);
  --entered_;
  changed_.SignalAll();
}

void ConnectionPlaces::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
  changed_.SignalAll();
}

ConnectionPlaces::Idle::Idle(ConnectionPlaces* places, const Connection* connection)
    : places_(places), connection_(connection) {
  absl::MutexLock lock(&places_->mutex_);
  places_->idle_.push_back({connection, SteadyNow()});
  places_->changed_.SignalAll();
}

ConnectionPlaces::Idle::~Idle() {
  absl::MutexLock lock(&places_->mutex_);
  places_->idle_.remove_if(
      [this](const IdleSince& each) { return each.connection == connection_; });
}

bool ConnectionPlaces::BeginStream() {
  absl::MutexLock lock(&mutex_);
  if (streaming_ >= streams_) return false;
  ++streaming_;
  return true;
}

void ConnectionPlaces::EndStream() {
  absl::MutexLock lock(&mutex_);
  --streaming_;
}

}  // namespace plimsoll::agent
