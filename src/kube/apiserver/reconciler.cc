#include "kube/apiserver/reconciler.h"

#include <utility>

#include "absl/random/random.h"

namespace plimsoll::kube {

Reconciler::Reconciler(std::function<absl::Status()> work, ReconcilerOptions options)
    : work_(std::move(work)), options_(std::move(options)), thread_([this] { Run(); }) {}

Reconciler::~Reconciler() {
  {
    const absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Reconciler::Wake() {
  const absl::MutexLock lock(&mutex_);
  awake_ = true;
}

void Reconciler::Run() {
  RetryDelay delay(options_.retry);
  while (AwaitWork()) {
    absl::Status status = work_();
    if (options_.on_result) options_.on_result(status);
    if (absl::IsCancelled(status)) return;
    if (status.ok()) {
      delay.Reset();
    } else {
      Wake();
    }
    if (!Rest(status.ok() ? options_.rest : delay.Next())) return;
  }
}

bool Reconciler::AwaitWork() {
  absl::BitGen random;
  const absl::Duration wait = options_.every * absl::Uniform(random, 0.8, 1.0);
  const absl::MutexLock lock(&mutex_);
  const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return awake_ || stopping_; };
  mutex_.AwaitWithTimeout(absl::Condition(&ready), wait);
  awake_ = false;
  return !stopping_;
}

bool Reconciler::Rest(absl::Duration wait) {
  const absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&stopping_), wait);
  return !stopping_;
}

}  // namespace plimsoll::kube
