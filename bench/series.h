// Measurements of one quantity.
#ifndef PLIMSOLL_BENCH_SERIES_H_
#define PLIMSOLL_BENCH_SERIES_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace plimsoll::bench {

struct Series {
  std::string name;
  std::vector<double> milliseconds;

  void Add(absl::Duration duration) {
    milliseconds.push_back(absl::ToDoubleMilliseconds(duration));
  }
  // Nearest rank; fraction in (0, 1]. Needs at least one measurement.
  double Quantile(double fraction) const {
    std::vector<double> sorted = milliseconds;
    std::sort(sorted.begin(), sorted.end());
    const size_t rank = static_cast<size_t>(fraction * static_cast<double>(sorted.size()) + 0.9999);
    return sorted.at(std::min(sorted.size(), std::max<size_t>(rank, 1)) - 1);
  }
  double Least() const { return Quantile(1e-9); }
};

}  // namespace plimsoll::bench

#endif  // PLIMSOLL_BENCH_SERIES_H_
