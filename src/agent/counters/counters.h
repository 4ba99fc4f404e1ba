// Counts and times of the agent's work. Any room of the agent adds to them and knows no more; the
// agent shows them as Prometheus' text.
//
//   constexpr CounterKind kStarts = {"kubelet_started_pods_total", "Starts of sandboxes."};
//   counters.Add(kStarts);
//
// kStarts is in a header of the room that counts.
#ifndef PLIMSOLL_AGENT_COUNTERS_COUNTERS_H_
#define PLIMSOLL_AGENT_COUNTERS_COUNTERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"

namespace plimsoll::agent {

// Constants: the strings outlive every Counters.
struct CounterKind {
  const char* name;  // as shown; of one kind only
  const char* help;
  // The names of its labels; null: it has fewer.
  const char* first_label = nullptr;
  const char* second_label = nullptr;
};
struct TimerKind {
  CounterKind shown;
  absl::Span<const double> bounds;  // of the histogram, in seconds, ascending
};

// Thread-safe. Values of labels come from code, never from clients or images; as a safeguard a kind
// shows at most kMostSeries of them, and counts all others as kOther.
class Counters {
 public:
  static constexpr size_t kMostSeries = 200;
  static constexpr char kOther[] = "other";

  // The values of the kind's labels; empty for those that it doesn't have.
  using Labels = std::array<std::string, 2>;

  // An amount of 0 shows the series from now on.
  void Add(const CounterKind& kind, Labels labels = {}, uint64_t amount = 1);
  void AddTime(const TimerKind& kind, Labels labels, absl::Duration time);

  struct Count {
    CounterKind kind;
    std::map<Labels, uint64_t> values;
  };
  struct Histogram {
    std::vector<uint64_t> counts;  // by bound, each without those below it, and above the last
    uint64_t count = 0;
    double sum = 0;  // seconds
  };
  struct Times {
    TimerKind kind;
    std::map<Labels, Histogram> values;
  };
  // By name.
  std::vector<Count> Counts() const;
  std::vector<Times> AllTimes() const;

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, Count> counts_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Times> times_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_COUNTERS_COUNTERS_H_
