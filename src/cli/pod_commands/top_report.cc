#include "cli/pod_commands/top_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/terminal/table.h"
#include "cli/terminal/text.h"
#include "resources/requirements.h"

namespace plimsoll::cli {
namespace {

constexpr char kNothing[] = "-";

void AddRates(const node::ContainerUsage& before, TopRow* row) {
  const node::ContainerUsage& now = row->usage;
  const cri::CpuUsage& cpu = now.stats().cpu();
  const cri::CpuUsage& cpu_before = before.stats().cpu();
  const int64_t elapsed = cpu.timestamp() - cpu_before.timestamp();
  const uint64_t used = cpu.usage_core_nano_seconds().value();
  const uint64_t used_before = cpu_before.usage_core_nano_seconds().value();
  if (elapsed > 0 && used >= used_before) {
    row->cpu_millis = static_cast<double>(used - used_before) * 1000 / static_cast<double>(elapsed);
  }
  if (now.allotted().cpu_quota() <= 0 || now.cpu_periods() < before.cpu_periods() ||
      now.throttled_periods() < before.throttled_periods()) {
    return;
  }
  const uint64_t periods = now.cpu_periods() - before.cpu_periods();
  const uint64_t throttled = now.throttled_periods() - before.throttled_periods();
  row->throttled_percent =
      periods == 0 ? 0 : 100 * static_cast<double>(throttled) / static_cast<double>(periods);
}

void AddPressure(TopRow* row) {
  const cri::ContainerStats& stats = row->usage.stats();
  for (const auto& [is_there, psi] : {std::pair(stats.cpu().has_psi(), &stats.cpu().psi()),
                                      std::pair(stats.memory().has_psi(), &stats.memory().psi()),
                                      std::pair(stats.io().has_psi(), &stats.io().psi())}) {
    if (!is_there) continue;
    row->pressure_percent = std::max(row->pressure_percent.value_or(0), psi->some().avg10());
  }
}

double KeyOf(const TopRow& row, TopOrder order) {
  switch (order) {
    case TopOrder::kCpu:
      return row.cpu_millis.value_or(-1);
    case TopOrder::kMemory:
      return static_cast<double>(row.usage.stats().memory().working_set_bytes().value());
    case TopOrder::kThrottled:
      return row.throttled_percent.value_or(-1);
    case TopOrder::kPressure:
      return row.pressure_percent.value_or(-1);
    case TopOrder::kName:
      return 0;
  }
  return 0;
}

// "250m/1" for request and limit.
std::string Asked(const cri::KubernetesResources& asked, const std::string& resource) {
  const auto request = asked.requests().find(resource);
  const auto limit = asked.limits().find(resource);
  const bool no_request = request == asked.requests().end();
  const bool no_limit = limit == asked.limits().end();
  if (no_request && no_limit) return kNothing;
  return absl::StrCat(no_request ? kNothing : request->second.string(), "/",
                      no_limit ? kNothing : limit->second.string());
}

std::optional<int64_t> QuotaMillis(const cri::LinuxContainerResources& allotted) {
  if (allotted.cpu_quota() <= 0 || allotted.cpu_period() <= 0) return std::nullopt;
  return resources::QuotaToMilliCpu(allotted.cpu_quota(),
                                    static_cast<uint64_t>(allotted.cpu_period()));
}

std::string Percent(std::optional<double> percent) {
  return percent.has_value() ? absl::StrFormat("%.0f%%", *percent) : kNothing;
}

// "cpu 12%, io 3%": pressures that round to 0% are left out.
std::string PressureText(const TopRow& row) {
  if (!row.pressure_percent.has_value()) return kNothing;
  const cri::ContainerStats& stats = row.usage.stats();
  std::vector<std::string> parts;
  for (const auto& [name, percent] : {std::pair("cpu", stats.cpu().psi().some().avg10()),
                                      std::pair("memory", stats.memory().psi().some().avg10()),
                                      std::pair("io", stats.io().psi().some().avg10())}) {
    if (percent > 0.5) parts.push_back(absl::StrCat(name, " ", Percent(percent)));
  }
  return parts.empty() ? "0%" : absl::StrJoin(parts, ", ");
}

std::string ClassText(const node::ContainerUsage& usage) {
  std::map<std::string, std::string> classes(usage.classes().begin(), usage.classes().end());
  std::erase_if(classes, [](const auto& each) { return each.second.empty(); });
  return classes.empty() ? kNothing : absl::StrJoin(classes, ", ", absl::PairFormatter(" "));
}

template <typename Number>
nlohmann::ordered_json OrNull(const std::optional<Number>& value) {
  return value.has_value() ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json QuantitiesJson(
    const google::protobuf::Map<std::string, ::k8s::io::apimachinery::pkg::api::resource::Quantity>&
        quantities) {
  std::map<std::string, std::string> sorted;
  for (const auto& [name, quantity] : quantities) sorted[name] = quantity.string();
  return sorted;
}

nlohmann::ordered_json PressureJson(const TopRow& row) {
  if (!row.pressure_percent.has_value()) return {};
  const cri::ContainerStats& stats = row.usage.stats();
  nlohmann::ordered_json json;
  for (const auto& [name, psi] :
       {std::pair("cpu", &stats.cpu().psi()), std::pair("memory", &stats.memory().psi()),
        std::pair("io", &stats.io().psi())}) {
    json[name] = {{"someAvg10", psi->some().avg10()}, {"fullAvg10", psi->full().avg10()}};
  }
  return json;
}

nlohmann::ordered_json RowJson(const TopRow& row) {
  const node::ContainerUsage& usage = row.usage;
  const cri::LinuxContainerResources& allotted = usage.allotted();
  const cri::ContainerStats& stats = usage.stats();
  nlohmann::ordered_json json = {{"id", stats.attributes().id()},
                                 {"name", stats.attributes().metadata().name()},
                                 {"pod", usage.pod_name()},
                                 {"namespace", usage.pod_namespace()},
                                 {"podSandboxId", usage.pod_sandbox_id()}};
  json["asked"] = nullptr;
  if (usage.has_asked()) {
    json["asked"] = {{"requests", QuantitiesJson(usage.asked().requests())},
                     {"limits", QuantitiesJson(usage.asked().limits())}};
  }
  const int64_t memory = allotted.memory_limit_in_bytes();
  json["allotted"] = {{"cpuMillis", OrNull(QuotaMillis(allotted))},
                      {"cpuShares", allotted.cpu_shares()},
                      {"cpusetCpus", allotted.cpuset_cpus()},
                      {"memoryBytes", OrNull(memory > 0 ? std::optional(memory) : std::nullopt)}};
  json["used"] = {{"cpuMillis", OrNull(row.cpu_millis)},
                  {"memoryBytes", stats.memory().working_set_bytes().value()},
                  {"swapBytes", stats.swap().swap_usage_bytes().value()},
                  {"processes", usage.process_count()}};
  json["throttledPercent"] = OrNull(row.throttled_percent);
  json["pressure"] = PressureJson(row);
  json["classes"] =
      std::map<std::string, std::string>(usage.classes().begin(), usage.classes().end());
  return json;
}

}  // namespace

std::vector<TopRow> TopRows(const node::ListUsageResponse& before,
                            const node::ListUsageResponse& now, TopOrder order) {
  std::map<std::string, const node::ContainerUsage*> earlier;  // by id
  for (const node::ContainerUsage& usage : before.containers()) {
    earlier[usage.stats().attributes().id()] = &usage;
  }
  std::vector<TopRow> rows;
  for (const node::ContainerUsage& usage : now.containers()) {
    TopRow row;
    row.usage = usage;
    const cri::ContainerAttributes& who = usage.stats().attributes();
    row.name = absl::StrCat(usage.pod_name(), "/", who.metadata().name());
    if (const auto it = earlier.find(who.id()); it != earlier.end()) AddRates(*it->second, &row);
    AddPressure(&row);
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(), [order](const TopRow& a, const TopRow& b) {
    return std::tuple(-KeyOf(a, order), a.name, a.usage.stats().attributes().id()) <
           std::tuple(-KeyOf(b, order), b.name, b.usage.stats().attributes().id());
  });
  return rows;
}

std::string TopTable(const std::vector<TopRow>& rows, bool wide) {
  std::vector<std::string> header = {"CONTAINER", "CPU ASKED", "ALLOTTED",     "USED",
                                     "THROTTLED", "MEM ASKED", "MEM ALLOTTED", "MEM USED",
                                     "PRESSURE",  "CLASS"};
  if (wide) header.insert(header.end(), {"SHARES", "CPUSET", "SWAP", "PROCESSES", "ID"});
  Table table(std::move(header));
  for (const TopRow& row : rows) {
    const cri::LinuxContainerResources& allotted = row.usage.allotted();
    const cri::ContainerStats& stats = row.usage.stats();
    const std::optional<int64_t> quota = QuotaMillis(allotted);
    const int64_t memory = allotted.memory_limit_in_bytes();
    table.AddRow({row.name, Asked(row.usage.asked(), "cpu"),
                  quota.has_value() ? absl::StrCat(*quota, "m") : kNothing,
                  row.cpu_millis.has_value() ? absl::StrFormat("%.0fm", *row.cpu_millis) : kNothing,
                  Percent(row.throttled_percent), Asked(row.usage.asked(), "memory"),
                  memory > 0 ? HumanBytes(static_cast<uint64_t>(memory)) : kNothing,
                  HumanBytes(stats.memory().working_set_bytes().value()), PressureText(row),
                  ClassText(row.usage), absl::StrCat(allotted.cpu_shares()),
                  allotted.cpuset_cpus().empty() ? kNothing : allotted.cpuset_cpus(),
                  HumanBytes(stats.swap().swap_usage_bytes().value()),
                  absl::StrCat(row.usage.process_count()), ShortId(stats.attributes().id())});
  }
  return table.ToString();
}

std::string TopJson(const std::vector<TopRow>& rows, absl::Time time, absl::Duration interval) {
  nlohmann::ordered_json json = {
      {"time", absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone())},
      {"intervalSeconds", absl::ToDoubleSeconds(interval)}};
  json["containers"] = nlohmann::ordered_json::array();
  for (const TopRow& row : rows) json["containers"].push_back(RowJson(row));
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string FitToScreen(const std::string& text, size_t width, size_t height) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (height > 0 && lines.size() > height) {
    const size_t left_out = lines.size() - height + 1;
    lines.resize(height - 1);
    lines.push_back(absl::StrCat("... and ", left_out, " more"));
  }
  for (std::string& line : lines) {
    size_t characters = 0;
    for (size_t i = 0; i < line.size(); ++i) {
      // UTF-8 continuation bytes take no column.
      if ((line[i] & 0xc0) != 0x80 && ++characters > width) {
        line.resize(i);
        break;
      }
    }
  }
  return absl::StrJoin(lines, "\n") + "\n";
}

}  // namespace plimsoll::cli
