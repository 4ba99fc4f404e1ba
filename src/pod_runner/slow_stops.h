// Containers of a pod that take long to stop.
#ifndef PLIMSOLL_POD_RUNNER_SLOW_STOPS_H_
#define PLIMSOLL_POD_RUNNER_SLOW_STOPS_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plimsoll::pod {

// Thread-safe.
class SlowStops {
 public:
  // `count`: stops to come.
  explicit SlowStops(size_t count) : left_(count) {}

  void Begin(const std::string& container);
  void End(const std::string& container);
  // Stops that have not ended.
  size_t left() const;
  // Containers whose stop has taken `time`, each once, and with them those whose stop has taken
  // half of it: one line names them all. Empty while no stop has taken `time`.
  std::vector<std::string> Take(absl::Duration time);

 private:
  mutable absl::Mutex mutex_;
  size_t left_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, absl::Time> begun_ ABSL_GUARDED_BY(mutex_);  // and not taken
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_SLOW_STOPS_H_
