#include "base/worker_pool.h"

#include <utility>

namespace plimsoll {

WorkerPool::WorkerPool(int threads, size_t max_queued) : max_queued_(max_queued) {
  threads_.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

WorkerPool::~WorkerPool() {
  {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

bool WorkerPool::TrySchedule(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  if (closing_ || queue_.size() >= max_queued_) return false;
  queue_.push_back(std::move(work));
  return true;
}

size_t WorkerPool::queued() const {
  absl::MutexLock lock(&mutex_);
  return queue_.size();
}

void WorkerPool::Loop() {
  while (true) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return closing_ || !queue_.empty();
      };
      mutex_.Await(absl::Condition(&ready));
      if (queue_.empty()) return;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace plimsoll
