#include "cri/usage/metric_writer.h"

namespace plimsoll::cri {

namespace v1 = ::runtime::v1;

void MetricWriter::Add(const MetricFamily& family, std::optional<uint64_t> value,
                       std::initializer_list<absl::string_view> labels, int64_t unix_nanos) {
  if (!value.has_value()) return;
  v1::Metric* const metric = out_->Add();
  metric->set_name(family.name);
  metric->set_timestamp(unix_nanos);
  metric->set_metric_type(family.kind == MetricKind::kCounter ? v1::COUNTER : v1::GAUGE);
  for (const std::string* common : {&subject_.id, &subject_.name, &subject_.image,
                                    &subject_.container, &subject_.pod, &subject_.pod_namespace}) {
    metric->add_label_values(*common);
  }
  for (const absl::string_view label : labels) metric->add_label_values(std::string(label));
  metric->mutable_value()->set_value(*value);
}

void FillDescriptor(const MetricFamily& family, v1::MetricDescriptor* out) {
  out->set_name(family.name);
  out->set_help(family.help);
  for (const char* label : kCommonLabels) out->add_label_keys(label);
  for (const char* label : family.labels) {
    if (label != nullptr) out->add_label_keys(label);
  }
}

}  // namespace plimsoll::cri
