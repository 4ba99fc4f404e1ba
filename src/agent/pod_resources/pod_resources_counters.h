// What the PodResources service counts, by kubelet's names.
#ifndef PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_COUNTERS_H_
#define PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_COUNTERS_H_

#include "agent/counters/counters.h"

namespace plimsoll::agent {

inline constexpr char kPodResourcesVersion[] = "v1";  // the value of their label

inline constexpr CounterKind kPodResourcesRequests = {
    "kubelet_pod_resources_endpoint_requests_total", "Calls of the PodResources service.",
    "server_api_version"};
inline constexpr CounterKind kPodResourcesLists = {
    "kubelet_pod_resources_endpoint_requests_list", "Calls of List.", "server_api_version"};
inline constexpr CounterKind kPodResourcesListErrors = {
    "kubelet_pod_resources_endpoint_errors_list", "Calls of List that failed.",
    "server_api_version"};
inline constexpr CounterKind kPodResourcesGets = {"kubelet_pod_resources_endpoint_requests_get",
                                                  "Calls of Get.", "server_api_version"};
inline constexpr CounterKind kPodResourcesGetErrors = {
    "kubelet_pod_resources_endpoint_errors_get", "Calls of Get that failed.", "server_api_version"};
inline constexpr CounterKind kPodResourcesTotals = {
    "kubelet_pod_resources_endpoint_requests_get_allocatable", "Calls of GetAllocatableResources.",
    "server_api_version"};
inline constexpr CounterKind kPodResourcesTotalsErrors = {
    "kubelet_pod_resources_endpoint_errors_get_allocatable",
    "Calls of GetAllocatableResources that failed.", "server_api_version"};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_POD_RESOURCES_POD_RESOURCES_COUNTERS_H_
