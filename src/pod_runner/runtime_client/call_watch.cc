#include "pod_runner/runtime_client/call_watch.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

namespace plimsoll::pod {

CallWatch::Call::Call(CallWatch* watch, std::function<void()> cancel)
    : watch_(watch), cancel_(std::move(cancel)), begun_(absl::Now()) {
  absl::MutexLock lock(&watch_->mutex_);
  at_ = watch_->calls_.insert(watch_->calls_.end(), this);
  if (watch_->abandoned_) cancel_();
  if (!watch_->thread_.joinable()) watch_->thread_ = std::thread([watch] { watch->Loop(); });
  watch_->changed_.SignalAll();
}

CallWatch::Call::~Call() {
  absl::MutexLock lock(&watch_->mutex_);
  watch_->calls_.erase(at_);
}

CallWatch::~CallWatch() {
  {
    absl::MutexLock lock(&mutex_);
    ending_ = true;
    changed_.SignalAll();
  }
  if (thread_.joinable()) thread_.join();
}

void CallWatch::Abandon() {
  absl::MutexLock lock(&mutex_);
  abandoned_ = true;
  for (const Call* call : calls_) call->cancel_();
}

bool CallWatch::abandoned() const {
  absl::MutexLock lock(&mutex_);
  return abandoned_;
}

void CallWatch::Loop() {
  bool told = false;
  absl::Time asked = absl::InfinitePast();
  absl::MutexLock lock(&mutex_);
  while (!ending_) {
    if (calls_.empty()) {
      changed_.Wait(&mutex_);
      continue;
    }
    // The pause grows with the call's age. A silent daemon is asked every second.
    const absl::Time begun = calls_.front()->begun_;
    const absl::Duration rest =
        told ? absl::Seconds(1) : std::max(options_.patience, (asked - begun) / 2);
    const absl::Time next = std::max(begun, asked) + rest;
    const absl::Duration left = next - absl::Now();
    if (left > absl::ZeroDuration()) {
      changed_.WaitWithTimeout(&mutex_, left);
      continue;
    }
    if (abandoned_) {
      changed_.Wait(&mutex_);
      continue;
    }
    mutex_.Unlock();
    const bool answers = options_.answers();
    if (answers == told) (answers ? options_.back : options_.silent)();
    told = !answers;
    asked = absl::Now();
    mutex_.Lock();
  }
}

}  // namespace plimsoll::pod
