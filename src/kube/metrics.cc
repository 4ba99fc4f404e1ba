#include "kube/metrics.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "service/metric_family.h"
#include "service/process_metrics.h"

namespace plimsoll::kube {
namespace {

using prometheus::MetricType;

void AddResults(MetricFamilies& families, const std::string& name, const std::string& help,
                uint64_t done, uint64_t failed) {
  prometheus::MetricFamily family = MakeFamily(name, help, MetricType::Counter);
  AddValue(&family, {{"result", "ok"}}, static_cast<double>(done));
  AddValue(&family, {{"result", "error"}}, static_cast<double>(failed));
  families.push_back(std::move(family));
}

}  // namespace

std::string MetricsText(const DriverCounts& counts, const FsRoot& host) {
  MetricFamilies families = {
      OneValue("plimsoll_kube_registered", "1 once kubelet has registered the driver.",
               MetricType::Gauge, counts.registered ? 1 : 0),
      OneValue("plimsoll_kube_runtime_up", "1 while plimsolld answers.", MetricType::Gauge,
               counts.runtime_answers ? 1 : 0),
      OneValue("plimsoll_kube_slices_current", "1 while the ResourceSlices are as the classes are.",
               MetricType::Gauge, counts.published ? 1 : 0),
      OneValue("plimsoll_kube_claims_prepared", "Claims that are prepared.", MetricType::Gauge,
               static_cast<double>(counts.prepared_claims)),
      OneValue("plimsoll_kube_slice_writes_total", "ResourceSlices written or deleted.",
               MetricType::Counter, static_cast<double>(counts.slice_writes))};
  AddResults(families, "plimsoll_kube_prepare_claims_total", "Claims that kubelet had prepared.",
             counts.calls.prepared, counts.calls.prepare_failures);
  AddResults(families, "plimsoll_kube_unprepare_claims_total",
             "Claims that kubelet had unprepared.", counts.calls.unprepared,
             counts.calls.unprepare_failures);
  Append(&families, ProcessMetrics(host));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace plimsoll::kube
