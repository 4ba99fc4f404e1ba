// The metrics of plimsoll-kube.
#ifndef PLIMSOLL_KUBE_METRICS_H_
#define PLIMSOLL_KUBE_METRICS_H_

#include <string>

#include "base/fs_root.h"
#include "kube/driver/driver.h"

namespace plimsoll::kube {

// Prometheus' text format, of the present moment. docs/kube-metrics.md lists all of them. `host`:
// "/", for this process's own.
std::string MetricsText(const DriverCounts& counts, const FsRoot& host);

}  // namespace plimsoll::kube

#endif  // PLIMSOLL_KUBE_METRICS_H_
