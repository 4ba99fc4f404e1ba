// QoS classes for Prometheus.
#ifndef PLIMSOLL_DAEMON_CLASS_METRICS_H_
#define PLIMSOLL_DAEMON_CLASS_METRICS_H_

#include "daemon/metric_family.h"
#include "qos/drift_watch.h"
#include "qos/registry.h"

namespace plimsoll::daemon {

// Read off the registry now. For drift some holders are looked at, for 20 ms at most or one holder;
// `drift` is that registry's.
MetricFamilies ClassMetrics(const qos::Registry& registry, qos::DriftWatch& drift);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CLASS_METRICS_H_
