#include "base/worker_pool.h"

#include <system_error>
#include <utility>

namespace plimsoll {

WorkerPool::WorkerPool(int max_threads, size_t max_queued, absl::Duration idle_time)
    : max_threads_(static_cast<size_t>(max_threads)),
      max_queued_(max_queued),
      idle_time_(idle_time) {}

WorkerPool::~WorkerPool() {
  std::vector<std::thread> ended;
  {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
    const auto all_retired = [this]()
                                 ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return threads_.empty(); };
    mutex_.Await(absl::Condition(&all_retired));
    ended.swap(retired_);
  }
  for (std::thread& thread : ended) thread.join();
}

bool WorkerPool::TrySchedule(std::function<void()> work) {
  absl::MutexLock lock(&mutex_);
  if (closing_ || queue_.size() >= max_queued_) return false;
  queue_.push_back(std::move(work));
  if (queue_.size() > idle_ && threads_.size() < max_threads_) StartThread();
  if (threads_.empty()) {
    queue_.pop_back();
    return false;
  }
  return true;
}

size_t WorkerPool::queued() const {
  absl::MutexLock lock(&mutex_);
  return queue_.size();
}

size_t WorkerPool::threads() const {
  absl::MutexLock lock(&mutex_);
  return threads_.size();
}

void WorkerPool::StartThread() {
  for (std::thread& thread : retired_) thread.join();
  retired_.clear();
  try {
    std::thread thread([this] { Loop(); });
    const std::thread::id id = thread.get_id();
    threads_.emplace(id, std::move(thread));
  } catch (const std::system_error&) {
    // The system gives no more threads: the running ones take the work.
  }
}

// Called last by a thread of the pool: it touches nothing of the pool once the lock is released.
void WorkerPool::Retire() {
  const auto self = threads_.find(std::this_thread::get_id());
  retired_.push_back(std::move(self->second));
  threads_.erase(self);
}

void WorkerPool::Loop() {
  while (true) {
    std::function<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      const auto ready = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return closing_ || !queue_.empty();
      };
      ++idle_;
      mutex_.AwaitWithTimeout(absl::Condition(&ready), idle_time_);
      --idle_;
      if (queue_.empty()) return Retire();
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
  }
}

}  // namespace plimsoll
