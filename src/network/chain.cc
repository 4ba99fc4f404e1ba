#include "network/chain.h"

#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "base/monotonic_time.h"
#include "base/status.h"
#include "network/json.h"

namespace plimsoll::network {
namespace {

// The specification's texts have two names, and plugins use either.
constexpr const char* kValidAttachments[] = {"cni.dev/valid-attachments", "cni.dev/attachments"};

Json InputObject(const NetworkConfig& config, const PluginConfig& plugin) {
  Json input = Json::parse(plugin.json, nullptr, /*allow_exceptions=*/false);
  if (!input.is_object()) input = Json::object();
  for (const char* key : {"capabilities", "cniVersions", "prevResult", "runtimeConfig"}) {
    input.erase(key);
  }
  input["cniVersion"] = VersionName(config.version);
  input["name"] = config.name;
  return input;
}

PluginCall CallFor(const Record& record, const char* command) {
  PluginCall call;
  call.command = command;
  call.container_id = record.id;
  call.netns = record.netns;
  call.ifname = record.ifname;
  call.args = record.args;
  return call;
}

absl::Status OfNetwork(const absl::Status& status, const NetworkConfig& config) {
  return Annotate(status, absl::StrCat("network ", config.name));
}

}  // namespace

std::string InputOf(const NetworkConfig& config, const PluginConfig& plugin,
                    const std::map<std::string, std::string>& capabilities,
                    const Result* previous) {
  Json input = InputObject(config, plugin);
  for (const auto& [name, value] : capabilities) {
    if (!plugin.capabilities.contains(name)) continue;
    input["runtimeConfig"][name] = Json::parse(value, nullptr, /*allow_exceptions=*/false);
  }
  if (previous != nullptr) {
    input["prevResult"] =
        Json::parse(ToJson(*previous, config.version), nullptr, /*allow_exceptions=*/false);
  }
  return Dump(input);
}

absl::StatusOr<Result> Add(const Plugins& plugins, const Record& record) {
  std::optional<Result> result;
  for (const PluginConfig& plugin : record.config.plugins) {
    PluginCall call = CallFor(record, "ADD");
    call.input = InputOf(record.config, plugin, record.capabilities,
                         result.has_value() ? &*result : nullptr);
    const absl::StatusOr<std::string> printed = plugins.Run(plugin.type, call);
    if (!printed.ok()) return OfNetwork(printed.status(), record.config);
    absl::StatusOr<Result> parsed = ParseResult(*printed);
    if (!parsed.ok()) {
      return OfNetwork(
          absl::InternalError(absl::StrCat("plugin ", plugin.type,
                                           " ADD: printed no result: ", parsed.status().message())),
          record.config);
    }
    result = *std::move(parsed);
  }
  return *std::move(result);
}

absl::Status Delete(const Plugins& plugins, const Record& record, bool has_netns) {
  // Before 0.4.0, DEL gets no result.
  const Result* previous = record.result.has_value() && record.config.version >= Version::k040
                               ? &*record.result
                               : nullptr;
  for (auto plugin = record.config.plugins.rbegin(); plugin != record.config.plugins.rend();
       ++plugin) {
    PluginCall call = CallFor(record, "DEL");
    if (!has_netns) call.netns.clear();
    call.input = InputOf(record.config, *plugin, record.capabilities, previous);
    PLIMSOLL_RETURN_IF_ERROR(OfNetwork(plugins.Run(plugin->type, call).status(), record.config));
  }
  return absl::OkStatus();
}

absl::Status Check(const Plugins& plugins, const Record& record) {
  if (!HasCheck(record.config.version) || record.config.disable_check ||
      !record.result.has_value()) {
    return absl::OkStatus();
  }
  for (const PluginConfig& plugin : record.config.plugins) {
    PluginCall call = CallFor(record, "CHECK");
    call.input = InputOf(record.config, plugin, record.capabilities, &*record.result);
    PLIMSOLL_RETURN_IF_ERROR(OfNetwork(plugins.Run(plugin.type, call).status(), record.config));
  }
  return absl::OkStatus();
}

absl::Status CollectGarbage(const Plugins& plugins, const NetworkConfig& config,
                            const std::vector<std::pair<std::string, std::string>>& valid) {
  if (!HasGarbageCollection(config.version) || config.disable_gc) return absl::OkStatus();
  Json attachments = Json::array();
  for (const auto& [id, ifname] : valid) {
    const Json attachment = {{"containerID", id}, {"ifname", ifname}};
    attachments.push_back(attachment);
  }
  absl::Status status;
  for (const PluginConfig& plugin : config.plugins) {
    Json input = InputObject(config, plugin);
    for (const char* key : kValidAttachments) input[key] = attachments;
    PluginCall call;
    call.command = "GC";
    call.input = Dump(input);
    status = FirstError(status, OfNetwork(plugins.Run(plugin.type, call).status(), config));
  }
  return status;
}

absl::Status AskStatus(const Plugins& plugins, const NetworkConfig& config, absl::Time deadline) {
  if (!HasStatus(config.version)) return absl::OkStatus();
  for (const PluginConfig& plugin : config.plugins) {
    PluginCall call;
    call.command = "STATUS";
    call.input = Dump(InputObject(config, plugin));
    const absl::Duration left = deadline - MonotonicNow();
    PLIMSOLL_RETURN_IF_ERROR(OfNetwork(plugins.Run(plugin.type, call, left).status(), config));
  }
  return absl::OkStatus();
}

}  // namespace plimsoll::network
