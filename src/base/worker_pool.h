// A fixed number of threads behind a bounded queue.
#ifndef PLIMSOLL_BASE_WORKER_POOL_H_
#define PLIMSOLL_BASE_WORKER_POOL_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll {

// Thread-safe. The destructor runs what was accepted and joins.
class WorkerPool {
 public:
  WorkerPool(int threads, size_t max_queued);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False, with nothing done, when the queue is full or the pool is closing.
  [[nodiscard]] bool TrySchedule(std::function<void()> work);
  size_t queued() const;

 private:
  void Loop();

  const size_t max_queued_;
  mutable absl::Mutex mutex_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_WORKER_POOL_H_
