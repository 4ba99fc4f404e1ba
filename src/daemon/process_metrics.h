// What the daemon's own process takes of the machine, under the names that Prometheus' clients use.
#ifndef PLIMSOLL_DAEMON_PROCESS_METRICS_H_
#define PLIMSOLL_DAEMON_PROCESS_METRICS_H_

#include "base/fs_root.h"
#include "daemon/metric_family.h"

namespace plimsoll::daemon {

// Of this process as it is now, by proc(5) below `host`. What can't be read is left out.
MetricFamilies ProcessMetrics(const FsRoot& host);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_PROCESS_METRICS_H_
