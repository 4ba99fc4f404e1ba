// The events of a pod's life, for the caller of Runner::Run.
#ifndef PLIMSOLL_POD_RUNNER_OBSERVER_H_
#define PLIMSOLL_POD_RUNNER_OBSERVER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace plimsoll::pod {

// All calls come from the thread that is in Runner::Run, and hold it up. `container` is a name of
// the manifest. Messages are as the daemon wrote them: a terminal needs them made printable. Each
// call does nothing unless overridden.
class Observer {
 public:
  virtual ~Observer() = default;

  // The manifest is translated. Before the first container is created.
  virtual void OnPlan(const std::vector<std::string>& /*containers*/) {}

  // The container was created, for the first time or again, and writes to the log file at the
  // absolute path. At most one log of a container is open.
  virtual void OnLogOpen(const std::string& /*container*/, const std::string& /*path*/) {}
  // The container has ended, or the Runner leaves it running. The log's present content is all that
  // belongs to this observer.
  virtual void OnLogEnd(const std::string& /*container*/) {}

  // The container's program could not be executed. The pod ends without further starts.
  virtual void OnStartRefused(const std::string& /*container*/, absl::string_view /*message*/) {}
  // The container ended, and starts again after the delay.
  virtual void OnRestart(const std::string& /*container*/, int /*exit_code*/,
                         absl::Duration /*delay*/) {}
  // The daemon was lost during a restart. The next attempt is after the delay.
  virtual void OnRestartLost(const std::string& /*container*/, absl::Duration /*delay*/) {}
  // The pod's own network has loopback alone, because of `fault` (NetworkFault). Before the first
  // container starts.
  virtual void OnLoopbackAlone(absl::string_view /*fault*/) {}
  // The daemon warned about this pod. Each warning comes once.
  virtual void OnWarning(absl::string_view /*message*/) {}

  // The pod's activeDeadlineSeconds have passed, and end it.
  virtual void OnDeadline(int64_t /*seconds*/) {}
  // An interrupt ends the pod: containers get the stop signal, and SIGKILL after the grace period.
  virtual void OnStop(int64_t /*grace_s*/) {}
  // These containers still run a second after the stop signal. Not called after OnStop.
  virtual void OnSlowStop(const std::vector<std::string>& /*containers*/, int64_t /*grace_s*/) {}
  // A further interrupt kills what still runs.
  virtual void OnKill() {}
  // The pod could not be removed, or it is not known whether the daemon made it.
  virtual void OnMayBeLeft() {}
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_OBSERVER_H_
