// The agent's metrics, with kubelet's names.
#ifndef PLIMSOLL_AGENT_METRICS_H_
#define PLIMSOLL_AGENT_METRICS_H_

#include <string>

#include "agent/config.h"
#include "agent/counters/counters.h"
#include "agent/node/node_view.h"
#include "agent/pods/status/pod_service.h"
#include "agent/probes/prober.h"
#include "base/fs_root.h"

namespace plimsoll::agent {

struct MetricSources {
  const PodService& pods;
  const NodeView& node;
  const AgentConfig& config;
  const Counters& counters;
  const Prober& prober;
  const FsRoot& host;  // "/", for this process's own
};

// Prometheus' text format, of the present moment. docs/agent-metrics.md lists all of them.
std::string MetricsText(const MetricSources& sources);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_METRICS_H_
