// Passes the daemon's activity on to the log and the metrics.
#ifndef PLIMSOLL_DAEMON_TELEMETRY_ACTIVITY_H_
#define PLIMSOLL_DAEMON_TELEMETRY_ACTIVITY_H_

#include <string>

#include "absl/strings/string_view.h"
#include "base/clock.h"
#include "cri/calls/calls.h"
#include "cri/calls/lanes.h"
#include "daemon/telemetry/metrics.h"
#include "runtime/objects/event_log.h"
#include "service/logging.h"

namespace plimsoll::daemon {

// Thread-safe; every method is quick.
class Activity {
 public:
  // Both outlive this.
  Activity(Log* log, Metrics* metrics) : log_(log), metrics_(metrics) {}

  // A request has come, as text without secrets.
  void OnRequest(absl::string_view method, const std::string& request);
  void OnCall(const cri::FinishedCall& call);
  void OnEvent(const runtime::Event& event, const runtime::EventSubject& subject);
  // A call has found all its lane's threads taken. Logged now and then.
  void OnExhausted(const cri::LaneState& lane);

 private:
  void Count(const runtime::Event& event, const runtime::EventSubject& subject);

  Log* const log_;
  Metrics* const metrics_;
  RateLimit exhausted_log_{0.1, 2, &Clock::Real()};
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_TELEMETRY_ACTIVITY_H_
