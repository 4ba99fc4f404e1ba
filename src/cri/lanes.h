// The threads that calls run on, by what they wait for.
#ifndef PLIMSOLL_CRI_LANES_H_
#define PLIMSOLL_CRI_LANES_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/worker_pool.h"

namespace plimsoll::cri {

// Each has threads of its own, so that none waits behind calls that wait for something else.
enum class Lane {
  kLook,     // reads what is known
  kWork,     // starts and changes: the processor's work, as good as at once
  kEnd,      // stops and removes: waits for grace periods; must get through whatever the others do
  kExec,     // waits for a command of somebody's, for ever if need be
  kFetch,    // waits for registries and archives
  kNetwork,  // waits for network plugins: makes pods, looks whether their network is as made
};
inline constexpr int kLanes = 6;
const char* LaneName(Lane lane);  // "look", "work", ...

struct LaneState {
  Lane lane = Lane::kLook;
  int workers = 0;
  int running = 0;
  int waiting = 0;
  // How long the call that has waited longest has; zero when none waits.
  absl::Duration longest_wait;
  uint64_t exhausted = 0;  // calls that came when all workers were taken
};

struct LaneOptions {
  int look_threads = 16;
  int work_threads = 16;
  int waiting_threads = 64;  // in each of the others
  size_t max_queued = 1024;  // in each lane; more are refused with RESOURCE_EXHAUSTED
  // Told of every call that finds all workers of its lane taken, in any thread; may be null. Must
  // be quick.
  std::function<void(const LaneState&)> on_exhausted;
};

// Thread-safe. The destructor waits for all work that was accepted.
class Lanes {
 public:
  explicit Lanes(LaneOptions options);

  // RESOURCE_EXHAUSTED when the lane's queue is full, UNAVAILABLE after Drain.
  absl::Status Schedule(Lane lane, std::function<void()> work);
  // Accepts nothing more and waits until what was accepted is done. False at the deadline.
  bool Drain(absl::Time deadline);
  std::vector<LaneState> State() const;

 private:
  struct OneLane {
    OneLane(int threads, size_t max_queued) : workers(threads), pool(threads, max_queued) {}
    const int workers;
    int running = 0;                 // mutex_
    std::deque<absl::Time> waiting;  // mutex_; since when; nearly in order
    uint64_t exhausted = 0;          // mutex_
    WorkerPool pool;
  };
  void Run(OneLane& lane, const std::function<void()>& work);
  LaneState StateOf(size_t index) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  const LaneOptions options_;
  mutable absl::Mutex mutex_;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  int accepted_ ABSL_GUARDED_BY(mutex_) = 0;  // and not yet done
  std::array<OneLane, kLanes> lanes_;
};

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_LANES_H_
