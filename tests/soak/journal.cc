#include "soak/journal.h"

#include <algorithm>
#include <cstdio>

namespace plimsoll::testing {
namespace {

constexpr int kMostPrinted = 30;

// Nearest rank, of a sorted series that is not empty.
double Quantile(const std::vector<float>& sorted, double fraction) {
  const auto rank = static_cast<size_t>(fraction * static_cast<double>(sorted.size()) + 0.9999);
  return sorted[std::min(sorted.size(), std::max<size_t>(rank, 1)) - 1];
}

}  // namespace

void Journal::Call(const std::string& name, absl::Duration took, bool refused) {
  absl::MutexLock lock(&mutex_);
  Series& series = calls_[name];
  series.milliseconds.push_back(static_cast<float>(absl::ToDoubleMilliseconds(took)));
  if (refused) ++series.refused;
}

void Journal::Fault(const std::string& text) {
  absl::MutexLock lock(&mutex_);
  if (++faults_ > kMostPrinted) return;
  std::printf("FAULT: %s\n", text.c_str());
  if (faults_ == kMostPrinted) std::puts("FAULT: further ones are counted only");
  std::fflush(stdout);
}

void Journal::Count(const std::string& what, size_t more) {
  absl::MutexLock lock(&mutex_);
  counts_[what] += more;
}

int Journal::faults() const {
  absl::MutexLock lock(&mutex_);
  return faults_;
}

std::vector<CallFigures> Journal::calls() const {
  std::map<std::string, Series> calls;
  {
    absl::MutexLock lock(&mutex_);
    calls = calls_;
  }
  std::vector<CallFigures> figures;
  for (auto& [name, series] : calls) {
    std::vector<float>& sorted = series.milliseconds;
    std::sort(sorted.begin(), sorted.end());
    figures.push_back({name, sorted.size(), series.refused, Quantile(sorted, 0.5),
                       Quantile(sorted, 0.99), sorted.back()});
  }
  return figures;
}

std::map<std::string, size_t> Journal::counts() const {
  absl::MutexLock lock(&mutex_);
  return counts_;
}

}  // namespace plimsoll::testing
