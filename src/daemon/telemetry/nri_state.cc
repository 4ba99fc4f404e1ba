#include "daemon/telemetry/nri_state.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace plimsoll::daemon {
namespace {

nlohmann::json RequestsJson(const nri::PluginReport& plugin) {
  nlohmann::json requests = nlohmann::json::object();
  for (const auto& [name, counts] : plugin.requests) {
    const double total = absl::ToDoubleMilliseconds(counts.total);
    requests[name] = {{"count", counts.count},
                      {"errors", counts.errors},
                      {"strikes", counts.strikes},
                      {"meanMs", counts.count == 0 ? 0 : total / static_cast<double>(counts.count)},
                      {"longestMs", absl::ToDoubleMilliseconds(counts.longest)}};
  }
  return requests;
}

nlohmann::json PluginJson(const nri::PluginReport& plugin) {
  return {{"name", plugin.name},
          {"state", nri::PluginStateName(plugin.state)},
          {"required", plugin.required},
          {"preInstalled", plugin.pre_installed},
          {"pid", plugin.pid},
          {"nriVersion", plugin.nri_version},
          {"events", plugin.events},
          {"strikes", plugin.strikes},
          {"restarts", plugin.restarts},
          {"connectedAt", plugin.connected_unix_nanos == 0
                              ? ""
                              : absl::FormatTime(absl::RFC3339_sec,
                                                 absl::FromUnixNanos(plugin.connected_unix_nanos),
                                                 absl::UTCTimeZone())},
          {"lastError", plugin.last_error},
          {"requests", RequestsJson(plugin)},
          {"adjustedContainers", plugin.adjusted_containers},
          {"updatedContainers", plugin.updated_containers},
          {"evictedContainers", plugin.evicted_containers}};
}

// One family of values by plugin and request.
template <typename Value>
prometheus::MetricFamily ByRequest(const NriState& state, const char* name, const char* help,
                                   prometheus::MetricType type, const Value& value) {
  prometheus::MetricFamily family = MakeFamily(name, help, type);
  for (const nri::PluginReport& plugin : state.plugins) {
    for (const auto& [request, counts] : plugin.requests) {
      AddValue(&family, {{"plugin", plugin.name}, {"request", request}},
               static_cast<double>(value(counts)));
    }
  }
  return family;
}

template <typename Value>
prometheus::MetricFamily ByPlugin(const NriState& state, const char* name, const char* help,
                                  prometheus::MetricType type, const Value& value) {
  prometheus::MetricFamily family = MakeFamily(name, help, type);
  for (const nri::PluginReport& plugin : state.plugins) {
    AddValue(&family, {{"plugin", plugin.name}}, static_cast<double>(value(plugin)));
  }
  return family;
}

MetricFamilies RequestMetrics(const NriState& state) {
  using enum prometheus::MetricType;
  using Counts = nri::RequestCounts;
  return {ByRequest(state, "plimsoll_nri_requests_total", "Requests to an NRI plugin", Counter,
                    [](const Counts& counts) { return counts.count; }),
          ByRequest(state, "plimsoll_nri_request_errors_total",
                    "Requests that an NRI plugin answered with an error", Counter,
                    [](const Counts& counts) { return counts.errors; }),
          ByRequest(state, "plimsoll_nri_strikes_total",
                    "Requests that an NRI plugin didn't answer in time, or at all", Counter,
                    [](const Counts& counts) { return counts.strikes; }),
          ByRequest(state, "plimsoll_nri_request_seconds_total",
                    "Time that requests to an NRI plugin took together", Counter,
                    [](const Counts& counts) { return absl::ToDoubleSeconds(counts.total); }),
          ByRequest(state, "plimsoll_nri_longest_request_seconds",
                    "Time that the longest request to an NRI plugin took", Gauge,
                    [](const Counts& counts) { return absl::ToDoubleSeconds(counts.longest); })};
}

}  // namespace

std::string ToJson(const NriState& state) {
  nlohmann::json json = {{"enabled", state.is_enabled},
                         {"socket", state.socket},
                         {"trouble", state.trouble},
                         {"plugins", nlohmann::json::array()}};
  for (const nri::PluginReport& plugin : state.plugins) {
    json["plugins"].push_back(PluginJson(plugin));
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> TroublesOf(const NriState& state) {
  std::vector<std::string> troubles;
  if (!state.trouble.empty()) troubles.push_back(state.trouble);
  for (const nri::PluginReport& plugin : state.plugins) {
    if (!plugin.required || plugin.state == nri::PluginState::kReady) continue;
    troubles.push_back(
        absl::StrCat("NRI plugin ", plugin.name, " is required and ",
                     plugin.state == nri::PluginState::kAbsent ? "not there" : "not ready yet",
                     ", so pods and containers can't be made",
                     plugin.last_error.empty() ? "" : absl::StrCat(": ", plugin.last_error)));
  }
  return troubles;
}

MetricFamilies NriMetrics(const NriState& state) {
  if (!state.is_enabled) return {};
  using enum prometheus::MetricType;
  using Report = nri::PluginReport;
  MetricFamilies families = {
      ByPlugin(state, "plimsoll_nri_plugin_ready", "Whether an NRI plugin takes requests", Gauge,
               [](const Report& plugin) { return plugin.state == nri::PluginState::kReady; }),
      ByPlugin(state, "plimsoll_nri_plugin_restarts_total",
               "Starts of an NRI plugin after its first", Counter,
               [](const Report& plugin) { return plugin.restarts; }),
      ByPlugin(state, "plimsoll_nri_adjusted_containers_total",
               "Containers that an NRI plugin has changed before they were made", Counter,
               [](const Report& plugin) { return plugin.adjusted_containers; }),
      ByPlugin(state, "plimsoll_nri_updated_containers_total",
               "Updates of containers by an NRI plugin", Counter,
               [](const Report& plugin) { return plugin.updated_containers; }),
      ByPlugin(state, "plimsoll_nri_evicted_containers_total",
               "Containers that an NRI plugin has evicted", Counter,
               [](const Report& plugin) { return plugin.evicted_containers; })};
  Append(&families, RequestMetrics(state));
  return families;
}

}  // namespace plimsoll::daemon
