// What the metrics show of the engine and the server.
#ifndef PLIMSOLL_DAEMON_COUNTS_H_
#define PLIMSOLL_DAEMON_COUNTS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cri/lanes.h"
#include "daemon/metrics.h"
#include "runtime/engine.h"

namespace plimsoll::daemon {

// All states, those that nothing is in included.
StateCounts CountStates(const runtime::Engine& engine);
// Of an engine that was created just now, in this time.
RecoveryCounts CountRecovered(const runtime::Engine& engine, absl::Duration duration);
// By the lanes' names.
std::map<std::string, LaneCounts> CountLanes(const std::vector<cri::LaneState>& lanes);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_COUNTS_H_
