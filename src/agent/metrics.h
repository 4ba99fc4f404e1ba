// The agent's metrics, with kubelet's names.
#ifndef PLIMSOLL_AGENT_METRICS_H_
#define PLIMSOLL_AGENT_METRICS_H_

#include <string>

#include "agent/config.h"
#include "agent/node/node_view.h"
#include "agent/pods/pod_service.h"
#include "agent/probes/prober.h"

namespace plimsoll::agent {

// Prometheus' text format, of the present moment.
std::string MetricsText(const PodService& pods, const NodeView& node, const Prober& prober,
                        const Config& config);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_METRICS_H_
