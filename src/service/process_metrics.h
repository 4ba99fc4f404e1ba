// Resource usage of a program's own process, under the names of Prometheus' clients.
#ifndef PLIMSOLL_SERVICE_PROCESS_METRICS_H_
#define PLIMSOLL_SERVICE_PROCESS_METRICS_H_

#include "base/fs_root.h"
#include "service/metric_family.h"

namespace plimsoll {

// For this process now, from proc(5) below `host`. Unreadable values are left out.
MetricFamilies ProcessMetrics(const FsRoot& host);

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_PROCESS_METRICS_H_
