// The wall clock, injectable.
#ifndef PLIMSOLL_BASE_CLOCK_H_
#define PLIMSOLL_BASE_CLOCK_H_

#include <cstdint>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace plimsoll {

// Wall-clock time. Thread-safe. Tests pass their own.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
  // Nanoseconds since the Unix epoch: the unit of every CRI timestamp.
  int64_t NowUnixNanos() const { return absl::ToUnixNanos(Now()); }

  // The machine's clock; lives as long as the process.
  static Clock& Real();
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_CLOCK_H_
