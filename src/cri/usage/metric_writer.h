// Puts values of metrics into the CRI's messages.
#ifndef PLIMSOLL_CRI_USAGE_METRIC_WRITER_H_
#define PLIMSOLL_CRI_USAGE_METRIC_WRITER_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "cri/runtime/v1/api.pb.h"
#include "cri/usage/metric_families.h"

namespace plimsoll::cri {

// The values of kCommonLabels.
struct MetricSubject {
  std::string id;  // the control group
  std::string name;
  std::string image;
  std::string container;
  std::string pod;
  std::string pod_namespace;
};

// Writes the metrics of one container or sandbox.
class MetricWriter {
 public:
  using Metrics = google::protobuf::RepeatedPtrField<::runtime::v1::Metric>;
  MetricWriter(MetricSubject subject, Metrics* out) : subject_(std::move(subject)), out_(out) {}

  // `labels`: values of the family's own labels, in its order. Writes nothing without a value.
  // `unix_nanos`: the time of an earlier reading; 0: read now, sent without a time stamp (kubelet
  // then sets none).
  void Add(const MetricFamily& family, std::optional<uint64_t> value,
           std::initializer_list<absl::string_view> labels = {}, int64_t unix_nanos = 0);

 private:
  const MetricSubject subject_;
  Metrics* const out_;
};

void FillDescriptor(const MetricFamily& family, ::runtime::v1::MetricDescriptor* out);

}  // namespace plimsoll::cri

#endif  // PLIMSOLL_CRI_USAGE_METRIC_WRITER_H_
