// For tests: waits for an asynchronous result.
#ifndef PLIMSOLL_BASE_WAIT_UNTIL_FOR_TEST_H_
#define PLIMSOLL_BASE_WAIT_UNTIL_FOR_TEST_H_

#include "absl/functional/function_ref.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace plimsoll {

// Polls until `done` returns true (returns true) or half a minute has passed (false).
inline bool WaitUntil(absl::FunctionRef<bool()> done) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (!done()) {
    if (absl::Now() > deadline) return false;
    absl::SleepFor(absl::Milliseconds(2));
  }
  return true;
}

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_WAIT_UNTIL_FOR_TEST_H_
