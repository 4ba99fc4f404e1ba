#include "agent/counters/counters.h"

#include <algorithm>
#include <utility>

namespace plimsoll::agent {
namespace {

// The series of these labels; that of kOther once there are too many.
template <typename Value>
Value& SeriesOf(const CounterKind& kind, std::map<Counters::Labels, Value>& values,
                Counters::Labels labels) {
  if (values.contains(labels) || values.size() < Counters::kMostSeries) {
    return values[std::move(labels)];
  }
  return values[{kind.first_label != nullptr ? Counters::kOther : "",
                 kind.second_label != nullptr ? Counters::kOther : ""}];
}

}  // namespace

void Counters::Add(const CounterKind& kind, Labels labels, uint64_t amount) {
  const absl::MutexLock lock(&mutex_);
  Count& count = counts_.try_emplace(kind.name, Count{kind, {}}).first->second;
  SeriesOf(kind, count.values, std::move(labels)) += amount;
}

void Counters::AddTime(const TimerKind& kind, Labels labels, absl::Duration time) {
  const double seconds = absl::ToDoubleSeconds(time);
  const absl::MutexLock lock(&mutex_);
  Times& times = times_.try_emplace(kind.shown.name, Times{kind, {}}).first->second;
  Histogram& histogram = SeriesOf(kind.shown, times.values, std::move(labels));
  histogram.counts.resize(kind.bounds.size() + 1);
  const auto bound = std::lower_bound(kind.bounds.begin(), kind.bounds.end(), seconds);
  ++histogram.counts[static_cast<size_t>(bound - kind.bounds.begin())];
  ++histogram.count;
  histogram.sum += seconds;
}

std::vector<Counters::Count> Counters::Counts() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<Count> all;
  for (const auto& [name, count] : counts_) all.push_back(count);
  return all;
}

std::vector<Counters::Times> Counters::AllTimes() const {
  const absl::MutexLock lock(&mutex_);
  std::vector<Times> all;
  for (const auto& [name, times] : times_) all.push_back(times);
  return all;
}

}  // namespace plimsoll::agent
