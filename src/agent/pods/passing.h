// Failures of a call to the runtime that pass by themselves.
#ifndef PLIMSOLL_AGENT_PODS_PASSING_H_
#define PLIMSOLL_AGENT_PODS_PASSING_H_

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace plimsoll::agent {

// The pause before the next try after such a failure.
inline constexpr absl::Duration kSoon = absl::Seconds(1);

// The runtime is away, or its answer was lost: it tells nothing of the pod, and is asked again
// soon.
inline bool IsPassing(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status) ||
         absl::IsDeadlineExceeded(status);
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_PASSING_H_
