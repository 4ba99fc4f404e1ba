#include "agent/metrics.h"

#include <prometheus/text_serializer.h>

#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "service/metric_family.h"
#include "service/process_metrics.h"

namespace plimsoll::agent {
namespace {

// The proposal's stage; a gate that Kubernetes has for good is of no stage.
std::string StageOf(const std::string& gate) {
  return gate == "InPlacePodVerticalScaling" ? "" : "ALPHA";
}

void AddGates(const AgentConfig& config, MetricFamilies& families) {
  prometheus::MetricFamily family =
      MakeFamily("kubernetes_feature_enabled", "Feature gates: 1 for those that are on.",
                 prometheus::MetricType::Gauge);
  for (const auto& [gate, is_on] : config.feature_gates.all()) {
    AddValue(&family, {{"name", gate}, {"stage", StageOf(gate)}}, is_on ? 1 : 0);
  }
  families.push_back(std::move(family));
}

void AddPods(const PodService& pods, MetricFamilies& families) {
  double running_pods = 0;
  std::map<std::string, double> containers = {{"exited", 0}, {"running", 0}};
  for (const nlohmann::json& pod : pods.List("")) {
    const nlohmann::json& status = pod["status"];
    running_pods += status.value("phase", "") == "Running" ? 1 : 0;
    for (const char* list : {"containerStatuses", "initContainerStatuses"}) {
      if (!status.contains(list)) continue;
      for (const nlohmann::json& each : status[list]) {
        if (each["state"].contains("running")) ++containers["running"];
        if (each["state"].contains("terminated")) ++containers["exited"];
      }
    }
  }
  families.push_back(OneValue("kubelet_running_pods", "Pods whose phase is Running.",
                              prometheus::MetricType::Gauge, running_pods));
  prometheus::MetricFamily family = MakeFamily("kubelet_running_containers", "Containers by state.",
                                               prometheus::MetricType::Gauge);
  for (const auto& [state, count] : containers) {
    AddValue(&family, {{"container_state", state}}, count);
  }
  families.push_back(std::move(family));
}

MetricLabels LabelsOf(const CounterKind& kind, const Counters::Labels& values) {
  MetricLabels labels;
  if (kind.first_label != nullptr) labels.push_back({kind.first_label, values[0]});
  if (kind.second_label != nullptr) labels.push_back({kind.second_label, values[1]});
  return labels;
}

void AddCounts(const Counters& counters, MetricFamilies& families) {
  for (const Counters::Count& each : counters.Counts()) {
    prometheus::MetricFamily family =
        MakeFamily(each.kind.name, each.kind.help, prometheus::MetricType::Counter);
    for (const auto& [labels, count] : each.values) {
      AddValue(&family, LabelsOf(each.kind, labels), static_cast<double>(count));
    }
    families.push_back(std::move(family));
  }
}

// Prometheus' buckets hold those below them too.
prometheus::ClientMetric::Histogram HistogramOf(absl::Span<const double> bounds,
                                                const Counters::Histogram& from) {
  prometheus::ClientMetric::Histogram histogram;
  histogram.sample_count = from.count;
  histogram.sample_sum = from.sum;
  uint64_t below = 0;
  for (size_t i = 0; i < from.counts.size(); ++i) {
    below += from.counts[i];
    const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({below, bound});
  }
  return histogram;
}

void AddTimes(const Counters& counters, MetricFamilies& families) {
  for (const Counters::Times& each : counters.AllTimes()) {
    prometheus::MetricFamily family =
        MakeFamily(each.kind.shown.name, each.kind.shown.help, prometheus::MetricType::Histogram);
    for (const auto& [labels, histogram] : each.values) {
      prometheus::ClientMetric metric;
      metric.label = LabelsOf(each.kind.shown, labels);
      metric.histogram = HistogramOf(each.kind.bounds, histogram);
      family.metric.push_back(std::move(metric));
    }
    families.push_back(std::move(family));
  }
}

// Probes of present pods: the series of a pod end with it.
void AddProbes(const Prober& prober, MetricFamilies& families) {
  prometheus::MetricFamily family =
      MakeFamily("prober_probe_total", "Probes of containers by their result.",
                 prometheus::MetricType::Counter);
  for (const ProbeCount& each : prober.Counts()) {
    const std::pair<const char*, uint64_t> results[] = {
        {"successful", each.successful}, {"failed", each.failed}, {"unknown", each.unknown}};
    for (const auto& [result, count] : results) {
      if (count == 0) continue;
      AddValue(&family,
               {{"probe_type", ProbeKindName(each.kind)},
                {"result", result},
                {"container", each.container},
                {"pod", each.pod},
                {"namespace", each.pod_namespace},
                {"pod_uid", each.uid}},
               static_cast<double>(count));
    }
  }
  families.push_back(std::move(family));
}

}  // namespace

std::string MetricsText(const MetricSources& sources) {
  MetricFamilies families;
  families.push_back(MakeFamily("kubelet_node_name", "The node's name. The value is always 1.",
                                prometheus::MetricType::Gauge));
  AddValue(&families.back(), {{"node", sources.node.name()}}, 1);
  families.push_back(OneValue("cri_dynamic_runtime_config_responses_total",
                              "Messages of GetDynamicRuntimeConfig that the runtime sent.",
                              prometheus::MetricType::Counter,
                              static_cast<double>(sources.node.response_count())));
  AddGates(sources.config, families);
  AddPods(sources.pods, families);
  AddCounts(sources.counters, families);
  AddTimes(sources.counters, families);
  AddProbes(sources.prober, families);
  Append(&families, ProcessMetrics(sources.host));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace plimsoll::agent
