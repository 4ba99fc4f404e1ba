// Counters of the PodResources service, by kubelet's names.
#ifndef PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_COUNTERS_H_
#define PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_COUNTERS_H_

#include "agent/counters/counters.h"

namespace plimsoll::agent {

// kubelet's metrics by method have no names of counters ("_total"), and are left out.
inline constexpr CounterKind kPodResourcesRequests = {
    "kubelet_pod_resources_endpoint_requests_total",
    "Calls of the PodResources service within its rate.", "server_api_version"};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_COUNTERS_H_
