// The engine's and the server's counts for the metrics.
#ifndef PLIMSOLL_DAEMON_TELEMETRY_COUNTS_H_
#define PLIMSOLL_DAEMON_TELEMETRY_COUNTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cri/calls/lanes.h"
#include "daemon/telemetry/metrics.h"
#include "runtime/engine.h"

namespace plimsoll::daemon {

// All states, including empty ones.
StateCounts CountStates(const runtime::Engine& engine);
// For an engine that was just created; `duration` is the time that took.
RecoveryCounts CountRecovered(const runtime::Engine& engine, absl::Duration duration);
// By lane name.
std::map<std::string, LaneCounts> CountLanes(const std::vector<cri::LaneState>& lanes);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_TELEMETRY_COUNTS_H_
