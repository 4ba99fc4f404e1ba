// Counters of the device manager, by kubelet's names.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_COUNTERS_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_COUNTERS_H_

#include "agent/counters/counters.h"

namespace plimsoll::agent {

inline constexpr CounterKind kPluginRegistrations = {
    "kubelet_device_plugin_registration_total",
    "Registrations of device plugins, those refused included.", "resource_name"};
// Bounds are kubelet's.
inline constexpr double kPluginAllocationBounds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                     0.5,   1,    2.5,   5,    10};
inline constexpr TimerKind kPluginAllocations = {
    {"kubelet_device_plugin_alloc_duration_seconds",
     "Time of a device plugin's answer to Allocate.", "resource_name"},
    kPluginAllocationBounds};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_COUNTERS_H_
