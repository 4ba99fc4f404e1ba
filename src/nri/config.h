// Settings of the Node Resource Interface, in plimsolld's configuration.
#ifndef PLIMSOLL_NRI_CONFIG_H_
#define PLIMSOLL_NRI_CONFIG_H_

#include <map>
#include <optional>
#include <string>

#include "nri/adjust/validator_config.h"

namespace plimsoll::nri {

struct PluginPolicy {
  // Whether the plugin's absence, and any failure of it, fails the request.
  bool required = false;
  // This many failures in a row (a timeout, a lost connection), of all requests or of one kind, end
  // the connection; 0: the first one does, as in other runtimes.
  int strikes = 3;
  bool operator==(const PluginPolicy&) const = default;
};

// The settings in which a plugin's policy differs from the default one.
struct PolicyChange {
  std::optional<bool> required;
  std::optional<int> strikes;
  PluginPolicy Over(const PluginPolicy& policy) const {
    return {.required = required.value_or(policy.required),
            .strikes = strikes.value_or(policy.strikes)};
  }
  bool operator==(const PolicyChange&) const = default;
};

struct NriSettings {
  bool enabled = true;
  std::string socket = "auto";  // absolute path; auto: /var/run/nri/nri.sock beside the default
                                // run directory, else nri/nri.sock in the run directory
  bool external = true;         // whether plugins may connect to the socket
  std::string plugin_dir = "/opt/nri/plugins";  // empty: none is started
  std::string config_dir = "/etc/nri/conf.d";   // empty: there are no configurations
  int registration_timeout_ms = 5000;
  int request_timeout_ms = 2000;
  PluginPolicy default_policy;
  // Plugins are named as their files: "10-name"; or "name", with any index.
  std::map<std::string, PolicyChange> policies;
  ValidatorConfig validator;
  bool operator==(const NriSettings&) const = default;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_CONFIG_H_
