// Names of plugins: two digits and a name, "10-logger".
#ifndef PLIMSOLL_NRI_PLUGIN_NAME_H_
#define PLIMSOLL_NRI_PLUGIN_NAME_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nri/config.h"

namespace plimsoll::nri {

struct PluginName {
  std::string index;  // "10"
  std::string base;   // "logger"
  std::string Full() const { return index + "-" + base; }
  bool operator==(const PluginName&) const = default;
};

// INVALID_ARGUMENT unless `index` is two digits and `base` is 1 to 128 of "a-zA-Z0-9_.+-".
absl::StatusOr<PluginName> MakePluginName(absl::string_view index, absl::string_view base);
// The name of a file of plugins: "10-logger".
absl::StatusOr<PluginName> ParsePluginName(absl::string_view full);

// The default policy, as changed under the plugin's full name, else under its base name.
PluginPolicy PolicyOf(const NriSettings& config, const PluginName& name);
// True if `wanted`, a name in the configuration, is the plugin's full or base name.
bool IsNamed(const PluginName& name, absl::string_view wanted);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_PLUGIN_NAME_H_
