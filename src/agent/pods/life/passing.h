// Failures of a pod's work: those of the runtime that pass by themselves, and exceptions.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_PASSING_H_
#define PLIMSOLL_AGENT_PODS_LIFE_PASSING_H_

#include <exception>
#include <new>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace plimsoll::agent {

// The pause before the next try after such a failure.
inline constexpr absl::Duration kSoon = absl::Seconds(1);

// The runtime is away, or its answer was lost: it reports nothing of the pod, and is asked again
// soon.
inline bool IsPassing(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status) ||
         absl::IsDeadlineExceeded(status);
}

// An exception of one pod's work as an error of that pod: it must not end the agent, which others
// depend on. The libraries below throw where memory is short, or for an object of another shape.
inline absl::Status FailureOf(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return absl::ResourceExhaustedError("there is too little memory for it");
  }
  return absl::InternalError(absl::StrCat("unexpected: ", error.what()));
}

// Calls `work`, which returns a Status or a StatusOr; an exception becomes FailureOf.
template <typename Work>
auto WithFailures(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& error) {
    return FailureOf(error);
  }
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_PASSING_H_
