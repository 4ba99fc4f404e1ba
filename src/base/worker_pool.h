// A pool of threads behind a bounded queue.
#ifndef PLIMSOLL_BASE_WORKER_POOL_H_
#define PLIMSOLL_BASE_WORKER_POOL_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plimsoll {

// A thread starts when there is work that no idle one can take, up to a limit, and ends after a
// while without work: a pool sized for the worst case costs an idle process nothing. Thread-safe.
// The destructor runs all accepted work and joins.
class WorkerPool {
 public:
  WorkerPool(int max_threads, size_t max_queued, absl::Duration idle_time = absl::Seconds(30));
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // False, with nothing done, when the queue is full, the pool is closing, or the machine doesn't
  // give it a single thread.
  [[nodiscard]] bool TrySchedule(std::function<void()> work);
  size_t queued() const;
  // The number of threads now, idle ones included.
  size_t threads() const;

 private:
  void Loop();
  void StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Retire() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t max_threads_;
  const size_t max_queued_;
  const absl::Duration idle_time_;
  mutable absl::Mutex mutex_;
  std::deque<std::function<void()>> queue_ ABSL_GUARDED_BY(mutex_);
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::thread::id, std::thread> threads_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> retired_ ABSL_GUARDED_BY(mutex_);  // have ended, still to be joined
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_WORKER_POOL_H_
