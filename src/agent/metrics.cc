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

}  // namespace

std::string MetricsText(const PodService& pods, const NodeView& node, const Config& config) {
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
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace plimsoll::agent
