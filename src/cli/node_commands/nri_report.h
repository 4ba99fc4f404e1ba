// The text of `plimsoll nri`.
#ifndef PLIMSOLL_CLI_NODE_COMMANDS_NRI_REPORT_H_
#define PLIMSOLL_CLI_NODE_COMMANDS_NRI_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/terminal/api.h"

namespace plimsoll::cli {

// The document `nri` of a verbose Status. FAILED_PRECONDITION if the runtime reports none.
absl::StatusOr<nlohmann::json> NriOf(const cri::StatusResponse& response);

bool IsNriOn(const nlohmann::json& nri);

// A change of a container by a plugin.
struct PluginChangeOf {
  std::string container;  // "pod/container"
  std::string id;
  std::string plugin;
  std::string field;
  std::string key;  // empty: the field has none
};
// The changes that a verbose ContainerStatus reports.
std::vector<PluginChangeOf> ChangesOf(const cri::ContainerStatusResponse& response,
                                      const std::string& container);

// Each plugin's index and name, as in "10-name".
std::vector<std::string> PluginNames(const nlohmann::json& nri);
// A table of all plugins.
std::string DescribePlugins(const nlohmann::json& nri);
// The plugin named "10-name", or by its name alone if no other has it. NOT_FOUND lists all;
// INVALID_ARGUMENT for several.
absl::StatusOr<nlohmann::json> FindPlugin(const nlohmann::json& nri, const std::string& name);
// "10-name".
std::string PluginNameOf(const nlohmann::json& plugin);
// One plugin and its changes.
std::string DescribePlugin(const nlohmann::json& plugin,
                           const std::vector<PluginChangeOf>& changes);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_NODE_COMMANDS_NRI_REPORT_H_
