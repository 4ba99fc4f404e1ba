// QoS classes for Prometheus.
#ifndef PLIMSOLL_DAEMON_CLASS_METRICS_H_
#define PLIMSOLL_DAEMON_CLASS_METRICS_H_

#include <prometheus/metric_family.h>

#include <vector>

#include "qos/registry.h"

namespace plimsoll::daemon {

// As metrics.h lists them, read off the registry now.
std::vector<prometheus::MetricFamily> ClassMetrics(const qos::Registry& registry);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CLASS_METRICS_H_
