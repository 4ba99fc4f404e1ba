// The configuration's policies for plugins of the Node Resource Interface, `nri.plugins`.
#ifndef PLIMSOLL_DAEMON_CONFIG_PLUGIN_POLICIES_H_
#define PLIMSOLL_DAEMON_CONFIG_PLUGIN_POLICIES_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "nri/config.h"
#include "yaml/reader.h"

namespace plimsoll::daemon {

// INVALID_ARGUMENT unless it is "10-name" or "name". The message does not name the key.
absl::Status CheckPluginName(const std::string& name);

// A mapping of plugins' names. A key that a policy lacks has the value of the default policy,
// wherever that stands. Errors go to the reader.
void ReadPluginPolicies(YamlReader& reader, const YAML::Node& node, const std::string& path,
                        std::map<std::string, nri::PolicyChange>* policies);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CONFIG_PLUGIN_POLICIES_H_
