#include "service/metric_family.h"

#include <iterator>
#include <utility>

namespace plimsoll {

prometheus::MetricFamily MakeFamily(const std::string& name, const std::string& help,
                                    prometheus::MetricType type) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

void AddValue(prometheus::MetricFamily* family, MetricLabels labels, double value) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  if (family->type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family->metric.push_back(std::move(metric));
}

prometheus::MetricFamily OneValue(const std::string& name, const std::string& help,
                                  prometheus::MetricType type, double value) {
  prometheus::MetricFamily family = MakeFamily(name, help, type);
  AddValue(&family, {}, value);
  return family;
}

void Append(MetricFamilies* families, MetricFamilies more) {
  families->insert(families->end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
}

}  // namespace plimsoll
