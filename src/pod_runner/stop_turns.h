// The order in which a pod's containers are stopped, and the grace period that they share.
#ifndef PLIMSOLL_POD_RUNNER_STOP_TURNS_H_
#define PLIMSOLL_POD_RUNNER_STOP_TURNS_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/steady_time.h"

namespace plimsoll::pod {

// A program gets this time after its hook and its wait in any case, in seconds (kubelet's
// minimumGracePeriodInSeconds).
inline constexpr int64_t kLeastGraceSeconds = 2;

// The period begins with the object. Thread-safe.
class StopTurns {
 public:
  // `ranks`: of each container. One of rank 1 has its turn once those of rank 0 have ended.
  // `grace_s` 0: everything ends at once, without an order.
  StopTurns(int64_t grace_s, const std::vector<size_t>& ranks);

  // Waits for the rank's turn, no longer than until the end of the period.
  void Await(size_t rank);
  // A container of the rank has ended.
  void End(size_t rank);
  // Shortens the period to `grace_s` from now.
  void Hasten(int64_t grace_s);
  // The rest of the period, in seconds, rounded up; never less than kLeastGraceSeconds but in a
  // period of 0.
  int64_t left_s() const;

 private:
  bool IsTurnOf(size_t rank) const;

  mutable std::mutex mutex_;
  // The standard library's: its waits use the monotonic clock.
  std::condition_variable changed_;
  bool at_once_;
  SteadyTime deadline_;
  std::map<size_t, size_t> running_;  // how many containers of a rank have not ended
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_STOP_TURNS_H_
