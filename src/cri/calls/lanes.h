// The threads that calls run on, in lanes by the kind of waiting.
#ifndef PLIMSOLL_CRI_CALLS_LANES_H_
#define PLIMSOLL_CRI_CALLS_LANES_H_

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
#include "base/fs_root.h"
#include "base/worker_pool.h"

namespace plimsoll::cri {

// Each lane has its own threads, so a call never waits behind calls that wait for something else.
enum class Lane {
  kLook,     // reads known state
  kWork,     // starts and changes; bound by the processor, nearly immediate
  kEnd,      // stops and removes: waits for grace periods; must get through whatever the others do
  kExec,     // waits for a command, for ever if need be
  kFetch,    // waits for registries and archives
  kNetwork,  // waits for network plugins: makes pods, checks their network
};
inline constexpr int kLanes = 6;
const char* LaneName(Lane lane);  // "look", "work", ...

struct LaneState {
  Lane lane = Lane::kLook;
  int workers = 0;
  int running = 0;
  int waiting = 0;
  // Wait of the longest-waiting call; zero when none waits.
  absl::Duration longest_wait;
  uint64_t exhausted = 0;  // calls that found all workers taken
};

struct LaneOptions {
  FsRoot host;  // has proc and the cgroups, for an error that names the limit on threads
  int look_threads = 16;
  int work_threads = 16;
  int waiting_threads = 64;  // in each other lane
  size_t max_queued = 1024;  // in each lane; more are refused with RESOURCE_EXHAUSTED
  // Called for every call that finds all its lane's workers taken, from any thread. May be null;
  // must be quick.
  std::function<void(const LaneState&)> on_exhausted;
};

// Thread-safe. The destructor waits for all accepted work.
class Lanes {
 public:
  explicit Lanes(LaneOptions options);

  // RESOURCE_EXHAUSTED if the lane's queue is full, UNAVAILABLE after Drain.
  absl::Status Schedule(Lane lane, std::function<void()> work);
  // Accepts no more work and waits for the accepted. False at the deadline.
  bool Drain(absl::Time deadline);
  std::vector<LaneState> State() const;

 private:
  struct OneLane {
    OneLane(int threads, size_t max_queued) : workers(threads), pool(threads, max_queued) {}
    const int workers;
    int running = 0;                 // guarded by mutex_
    std::deque<absl::Time> waiting;  // guarded by mutex_; arrival times, nearly in order
    uint64_t exhausted = 0;          // guarded by mutex_
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

#endif  // PLIMSOLL_CRI_CALLS_LANES_H_
