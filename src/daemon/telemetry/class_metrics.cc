#include "daemon/telemetry/class_metrics.h"

#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::daemon {
namespace {

constexpr absl::Duration kTimeForDrift = absl::Milliseconds(20);

}  // namespace

MetricFamilies ClassMetrics(const qos::Registry& registry, qos::DriftWatch& drift) {
  auto holders = MakeFamily("plimsoll_class_holders", "Pods or containers that hold a QoS class",
                            prometheus::MetricType::Gauge);
  auto capacity =
      MakeFamily("plimsoll_class_capacity", "Most holders that a QoS class may have at once",
                 prometheus::MetricType::Gauge);
  auto refusals = MakeFamily("plimsoll_class_refusals_total", "Refused requests for a QoS class",
                             prometheus::MetricType::Counter);
  auto drifted =
      MakeFamily("plimsoll_class_drift",
                 "Holders of a QoS class that were outside of it at their last two looks",
                 prometheus::MetricType::Gauge);
  const std::map<qos::DriftWatch::Key, uint64_t> differ = drift.Look(kTimeForDrift);
  for (const qos::TypeReport& type : registry.Describe()) {
    const std::string level = type.level == qos::Level::kPod ? "pod" : "container";
    for (const qos::ClassUse& use : type.classes) {
      const MetricLabels labels = {{"level", level}, {"type", type.name}, {"class", use.info.name}};
      AddValue(&holders, labels, use.holders.size());
      if (use.info.capacity != 0) AddValue(&capacity, labels, use.info.capacity);
      const auto count = differ.find({type.level, type.name, use.info.name});
      AddValue(&drifted, labels, count == differ.end() ? 0 : count->second);
    }
  }
  for (const auto& [key, count] : registry.Refusals()) {
    AddValue(&refusals, {{"type", key.first}, {"reason", key.second}}, count);
  }
  std::map<std::string, prometheus::MetricFamily> measured;
  for (const qos::Registry::Measurement& one : registry.Measure()) {
    auto [at, is_new] = measured.try_emplace(one.metric);
    if (is_new) {
      at->second = MakeFamily(absl::StrCat("plimsoll_class_", one.metric),
                              "Measured by the class's type, for one holder or for the whole class",
                              prometheus::MetricType::Gauge);
    }
    MetricLabels labels = {{"type", one.type}, {"class", one.class_name}};
    if (!one.id.empty()) labels.push_back({"id", one.id});
    AddValue(&at->second, std::move(labels), one.value);
  }
  MetricFamilies families = {std::move(holders), std::move(capacity), std::move(refusals),
                             std::move(drifted)};
  for (auto& [name, family] : measured) families.push_back(std::move(family));
  return families;
}

}  // namespace plimsoll::daemon
