// Metric families made on request rather than kept.
#ifndef PLIMSOLL_SERVICE_METRIC_FAMILY_H_
#define PLIMSOLL_SERVICE_METRIC_FAMILY_H_

#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace plimsoll {

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;
using MetricFamilies = std::vector<prometheus::MetricFamily>;

// A family without values yet; a counter or a gauge.
prometheus::MetricFamily MakeFamily(const std::string& name, const std::string& help,
                                    prometheus::MetricType type);
void AddValue(prometheus::MetricFamily* family, MetricLabels labels, double value);
// A family with one value and no labels.
prometheus::MetricFamily OneValue(const std::string& name, const std::string& help,
                                  prometheus::MetricType type, double value);
// Moves `more` to the end of `families`.
void Append(MetricFamilies* families, MetricFamilies more);

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_METRIC_FAMILY_H_
