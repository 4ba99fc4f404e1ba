#include "cli/node_commands/nri_report.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/text/printable.h"
#include "cli/terminal/object_fields.h"
#include "cli/terminal/table.h"

namespace plimsoll::cli {
namespace {

double NumberAt(const nlohmann::json& json, const char* name) {
  const auto at = json.find(name);  // the end, in anything but an object
  return at != json.end() && at->is_number() ? at->get<double>() : 0;
}

std::string CountText(int64_t count) {
  return absl::StrCat(std::max<int64_t>(count, 0));
}

std::string Milliseconds(double value) {
  if (value >= 100) return absl::StrFormat("%.0f ms", value);
  return absl::StrFormat("%.2g ms", value);
}

std::vector<std::string> EventsOf(const nlohmann::json& plugin) {
  std::vector<std::string> events;
  for (const nlohmann::json& event : ItemsOf(plugin, {"events"})) {
    if (event.is_string()) events.push_back(event.get<std::string>());
  }
  return events;
}

// All, or the first two and the number of the others.
std::string EventsInShort(const nlohmann::json& plugin) {
  constexpr size_t kMost = 2;
  constexpr size_t kAll = 14;  // of the protocol's release 0.12
  std::vector<std::string> events = EventsOf(plugin);
  if (events.empty()) return "-";
  if (events.size() >= kAll) return "all";
  if (events.size() <= kMost) return absl::StrJoin(events, ", ");
  const size_t more = events.size() - kMost;
  events.resize(kMost);
  return absl::StrCat(absl::StrJoin(events, ", "), ", ", more, " more");
}

// All requests together.
struct Latency {
  double count = 0;
  double total = 0;    // ms
  double longest = 0;  // ms
};
Latency LatencyOf(const nlohmann::json& plugin) {
  Latency all;
  for (const auto& [name, counts] : FieldOf(plugin, {"requests"}).items()) {
    const auto count = static_cast<double>(NumberOf(counts, {"count"}));
    all.count += count;
    all.total += count * NumberAt(counts, "meanMs");
    all.longest = std::max(all.longest, NumberAt(counts, "longestMs"));
  }
  return all;
}

std::string PluginKindOf(const nlohmann::json& plugin) {
  return FlagOf(plugin, {"preInstalled"}) ? "pre-installed" : "external";
}

std::string TextOrDash(std::string text) {
  return text.empty() ? "-" : std::move(text);
}

std::vector<std::string> RowOf(const nlohmann::json& plugin) {
  const Latency latency = LatencyOf(plugin);
  const bool asked = latency.count > 0;
  return {
      PluginNameOf(plugin),
      absl::StrCat(TextOf(plugin, {"state"}), FlagOf(plugin, {"required"}) ? " (required)" : ""),
      PluginKindOf(plugin),
      TextOrDash(TextOf(plugin, {"nriVersion"})),
      EventsInShort(plugin),
      CountText(NumberOf(plugin, {"strikes"})),
      asked ? Milliseconds(latency.total / latency.count) : "-",
      asked ? Milliseconds(latency.longest) : "-",
      CountText(NumberOf(plugin, {"adjustedContainers"})),
      CountText(NumberOf(plugin, {"updatedContainers"})),
      CountText(NumberOf(plugin, {"evictedContainers"})),
      TextOrDash(TextOf(plugin, {"lastError"}))};
}

std::vector<nlohmann::json> PluginsOf(const nlohmann::json& nri) {
  return ItemsOf(nri, {"plugins"});
}

// "10-name" without its index.
std::string NameAlone(const std::string& name) {
  const bool has_index = name.size() > 3 && absl::ascii_isdigit(name[0]) &&
                         absl::ascii_isdigit(name[1]) && name[2] == '-';
  return has_index ? name.substr(3) : name;
}

std::string RequestTable(const nlohmann::json& plugin) {
  Table table({"REQUEST", "COUNT", "ERRORS", "STRIKES", "MEAN", "LONGEST"});
  for (const auto& [name, counts] : FieldOf(plugin, {"requests"}).items()) {
    table.AddRow({name, CountText(NumberOf(counts, {"count"})),
                  CountText(NumberOf(counts, {"errors"})), CountText(NumberOf(counts, {"strikes"})),
                  Milliseconds(NumberAt(counts, "meanMs")),
                  Milliseconds(NumberAt(counts, "longestMs"))});
  }
  return table.empty() ? "" : absl::StrCat("\n", table.ToString());
}

}  // namespace

absl::StatusOr<nlohmann::json> NriOf(const cri::StatusResponse& response) {
  const auto at = response.info().find("nri");
  if (at == response.info().end()) {
    return absl::FailedPreconditionError(
        "this runtime reports nothing of plugins of the Node Resource Interface");
  }
  nlohmann::json json = nlohmann::json::parse(at->second, nullptr, /*allow_exceptions=*/false);
  if (json.is_object()) return json;
  return absl::InternalError("the daemon's word about plugins is no JSON object");
}

bool IsNriOn(const nlohmann::json& nri) {
  return FlagOf(nri, {"enabled"});
}

std::string PluginNameOf(const nlohmann::json& plugin) {
  return TextOf(plugin, {"name"});
}

std::vector<PluginChangeOf> ChangesOf(const cri::ContainerStatusResponse& response,
                                      const std::string& container) {
  std::vector<PluginChangeOf> changes;
  const auto at = response.info().find("info");
  if (at == response.info().end()) return changes;
  const nlohmann::json info =
      nlohmann::json::parse(at->second, nullptr, /*allow_exceptions=*/false);
  for (const nlohmann::json& change : ItemsOf(info, {"changedBy"})) {
    changes.push_back({.container = container,
                       .id = response.status().id(),
                       .plugin = TextOf(change, {"plugin"}),
                       .field = TextOf(change, {"field"}),
                       .key = TextOf(change, {"key"})});
  }
  return changes;
}

std::vector<std::string> PluginNames(const nlohmann::json& nri) {
  std::vector<std::string> names;
  for (const nlohmann::json& plugin : PluginsOf(nri)) names.push_back(PluginNameOf(plugin));
  return names;
}

std::string DescribePlugins(const nlohmann::json& nri) {
  if (!IsNriOn(nri)) {
    return "The Node Resource Interface is off (nri.enabled in plimsolld.yaml).\n";
  }
  std::string text;
  if (PluginsOf(nri).empty()) {
    text = "There is no plugin.\n";
  } else {
    Table table({"PLUGIN", "STATE", "KIND", "NRI", "EVENTS", "STRIKES", "MEAN", "LONGEST",
                 "ADJUSTED", "UPDATED", "EVICTED", "LAST ERROR"});
    for (const nlohmann::json& plugin : PluginsOf(nri)) table.AddRow(RowOf(plugin));
    text = table.ToString();
  }
  const std::string socket = TextOf(nri, {"socket"});
  const std::string trouble = TextOf(nri, {"trouble"});
  if (!trouble.empty()) {
    absl::StrAppend(&text, "\nWarning: ", Printable(trouble), "\n");
  } else {
    absl::StrAppend(&text, "\n",
                    socket.empty() ? "No plugin may connect (nri.external in plimsolld.yaml)."
                                   : absl::StrCat("Plugins connect to ", Printable(socket), "."),
                    "\n");
  }
  return text;
}

absl::StatusOr<nlohmann::json> FindPlugin(const nlohmann::json& nri, const std::string& name) {
  std::vector<std::string> all;
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& plugin : PluginsOf(nri)) {
    all.push_back(PluginNameOf(plugin));
    if (all.back() == name) return plugin;
    if (NameAlone(all.back()) == name) found.push_back(plugin);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat("there are ", found.size(), " plugins '", name,
                                                   "': name one with its index, as in ",
                                                   PluginNameOf(found[0])));
  }
  return absl::NotFoundError(absl::StrCat(
      "there is no plugin '", name, "'",
      all.empty() ? ", nor any other" : absl::StrCat("; there are ", absl::StrJoin(all, ", "))));
}

std::string DescribePlugin(const nlohmann::json& plugin,
                           const std::vector<PluginChangeOf>& changes) {
  std::string state = TextOf(plugin, {"state"});
  if (const std::string since = TextOf(plugin, {"connectedAt"}); !since.empty()) {
    absl::StrAppend(&state, ", connected since ", since);
  }
  std::string kind = PluginKindOf(plugin);
  if (const int64_t pid = NumberOf(plugin, {"pid"}); pid > 0) {
    absl::StrAppend(&kind, ", process ", CountText(pid));
  }
  if (const int64_t restarts = NumberOf(plugin, {"restarts"}); restarts > 0) {
    absl::StrAppend(&kind, ", restarted ", CountText(restarts), restarts == 1 ? " time" : " times");
  }
  std::string text = absl::StrCat(
      Printable(PluginNameOf(plugin)), "\n",
      AlignedPairs(
          {{"state", state},
           {"kind", kind},
           {"NRI version", TextOrDash(TextOf(plugin, {"nriVersion"}))},
           {"required", FlagOf(plugin, {"required"}) ? "yes" : "no"},
           {"events", TextOrDash(absl::StrJoin(EventsOf(plugin), ", "))},
           {"strikes in a row", CountText(NumberOf(plugin, {"strikes"}))},
           {"containers",
            absl::StrCat(CountText(NumberOf(plugin, {"adjustedContainers"})), " adjusted, ",
                         CountText(NumberOf(plugin, {"updatedContainers"})), " updated, ",
                         CountText(NumberOf(plugin, {"evictedContainers"})), " evicted")},
           {"last error", TextOrDash(TextOf(plugin, {"lastError"}))}}));
  absl::StrAppend(&text, RequestTable(plugin));
  if (changes.empty()) return absl::StrCat(text, "\nNo container here has a change by it.\n");
  Table table({"CONTAINER", "CHANGED", "KEY"});
  for (const PluginChangeOf& change : changes) {
    table.AddRow({change.container, change.field, TextOrDash(change.key)});
  }
  return absl::StrCat(text, "\n", table.ToString());
}

}  // namespace plimsoll::cli
