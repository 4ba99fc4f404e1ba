#include "agent/metrics.h"

#include <prometheus/text_serializer.h>

#include <map>
#include <utility>

#include "service/metric_family.h"

namespace plimsoll::agent {
namespace {

void AddGates(const Config& config, MetricFamilies& families) {
  prometheus::MetricFamily family =
      MakeFamily("kubernetes_feature_enabled", "Feature gates: 1 for those that are on.",
                 prometheus::MetricType::Gauge);
  for (const auto& [gate, is_on] : config.feature_gates.all()) {
    AddValue(&family, {{"name", gate}, {"stage", ""}}, is_on ? 1 : 0);
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

// Of pods that are there: the series of a pod end with it.
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

std::string MetricsText(const PodService& pods, const NodeView& node, const Prober& prober,
                        const Config& config) {
  MetricFamilies families;
  families.push_back(MakeFamily("kubelet_node_name", "The node's name. The value is always 1.",
                                prometheus::MetricType::Gauge));
  AddValue(&families.back(), {{"node", node.name()}}, 1);
  families.push_back(OneValue("cri_dynamic_runtime_config_responses_total",
                              "Messages of GetDynamicRuntimeConfig that the runtime sent.",
                              prometheus::MetricType::Counter,
                              static_cast<double>(node.response_count())));
  AddGates(config, families);
  AddPods(pods, families);
  AddProbes(prober, families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace plimsoll::agent
