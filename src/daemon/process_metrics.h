// Resource usage of the daemon's own process, under the names of Prometheus' clients.
#ifndef PLIMSOLL_DAEMON_PROCESS_METRICS_H_
#define PLIMSOLL_DAEMON_PROCESS_METRICS_H_

#include "base/fs_root.h"
#include "service/metric_family.h"

namespace plimsoll::daemon {

// For this process now, from proc(5) below `host`. Unreadable values are left out.
MetricFamilies ProcessMetrics(const FsRoot& host);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_PROCESS_METRICS_H_
