// QoS classes for Prometheus.
#ifndef PLIMSOLL_DAEMON_TELEMETRY_CLASS_METRICS_H_
#define PLIMSOLL_DAEMON_TELEMETRY_CLASS_METRICS_H_

#include "qos/drift_watch.h"
#include "qos/registry.h"
#include "service/metric_family.h"

namespace plimsoll::daemon {

// Read from the registry now. Looks for drift at some of the holders, for 20 ms or one holder at
// most; `drift` belongs to that registry.
MetricFamilies ClassMetrics(const qos::Registry& registry, qos::DriftWatch& drift);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_TELEMETRY_CLASS_METRICS_H_
