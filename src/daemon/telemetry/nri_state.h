// The state of the Node Resource Interface for clients and metrics.
#ifndef PLIMSOLL_DAEMON_TELEMETRY_NRI_STATE_H_
#define PLIMSOLL_DAEMON_TELEMETRY_NRI_STATE_H_

#include <string>
#include <vector>

#include "nri/nri.h"
#include "service/metric_family.h"

namespace plimsoll::daemon {

struct NriState {
  bool is_enabled = false;
  std::string socket;   // empty: no plugin can connect
  std::string trouble;  // of the socket; a sentence
  std::vector<nri::PluginReport> plugins;
};

// The document `nri` of the CRI's verbose Status, as docs/nri.md describes it.
std::string ToJson(const NriState& state);

// A sentence for the socket that couldn't be had, and for each plugin without which pods fail.
std::vector<std::string> TroublesOf(const NriState& state);

// Nothing where the interface is switched off. The labels are plugins' names, which are as many as
// plugins are there or should be, and the protocol's names of requests.
MetricFamilies NriMetrics(const NriState& state);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_TELEMETRY_NRI_STATE_H_
