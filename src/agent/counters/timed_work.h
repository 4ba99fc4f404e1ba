// Counts the time of some work from its begin to its end.
#ifndef PLIMSOLL_AGENT_COUNTERS_TIMED_WORK_H_
#define PLIMSOLL_AGENT_COUNTERS_TIMED_WORK_H_

#include <utility>

#include "absl/time/time.h"
#include "agent/counters/counters.h"
#include "base/steady_time.h"

namespace plimsoll::agent {

class TimedWork {
 public:
  // The work begins now and ends with this object. `counters` and `kind` outlive it.
  TimedWork(Counters& counters, const TimerKind& kind, Counters::Labels labels)
      : counters_(counters), kind_(kind), labels_(std::move(labels)) {}
  ~TimedWork() { counters_.AddTime(kind_, labels_, absl::FromChrono(SteadyNow() - begin_)); }
  TimedWork(const TimedWork&) = delete;
  TimedWork& operator=(const TimedWork&) = delete;

 private:
  Counters& counters_;
  const TimerKind& kind_;
  const Counters::Labels labels_;
  const SteadyTime begin_ = SteadyNow();
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_COUNTERS_TIMED_WORK_H_
