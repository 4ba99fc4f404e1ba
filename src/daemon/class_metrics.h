// QoS classes for Prometheus.
#ifndef PLIMSOLL_DAEMON_CLASS_METRICS_H_
#define PLIMSOLL_DAEMON_CLASS_METRICS_H_

#include <prometheus/metric_family.h>

#include <vector>

#include "qos/drift_watch.h"
#include "qos/registry.h"

namespace plimsoll::daemon {

// As metrics.h lists them, read off the registry now. For drift some holders are looked at, for 20
// ms at most or one holder; `drift` is that registry's.
std::vector<prometheus::MetricFamily> ClassMetrics(const qos::Registry& registry,
                                                   qos::DriftWatch& drift);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CLASS_METRICS_H_
