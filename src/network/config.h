// CNI network configurations: the administrator's files, read strictly enough that mistakes are
// reported before a pod needs the network. Source: the CNI specification 0.3.1 to 1.1.0, "Network
// configuration format".
#ifndef PLIMSOLL_NETWORK_CONFIG_H_
#define PLIMSOLL_NETWORK_CONFIG_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::network {

inline constexpr size_t kMaxConfigBytes = 1024 * 1024;  // of one file

// The CNI specification's versions, in order.
enum class Version { k031, k040, k100, k110 };
const char* VersionName(Version version);  // "0.3.1"
// INVALID_ARGUMENT names the known versions.
absl::StatusOr<Version> ParseVersion(absl::string_view text);

// The commands that a version has beside ADD and DEL.
inline bool HasCheck(Version version) {
  return version >= Version::k040;
}
inline bool HasGarbageCollection(Version version) {
  return version >= Version::k110;
}
inline bool HasStatus(Version version) {
  return version >= Version::k110;
}

struct PluginConfig {
  std::string type;                    // its program's name
  std::set<std::string> capabilities;  // those it declares
  std::string json;                    // its object in the file
};

struct NetworkConfig {
  std::string name;
  Version version = Version::k031;
  bool disable_check = false;
  bool disable_gc = false;
  std::vector<PluginConfig> plugins;  // in the order of ADD; at least one
  std::string file;                   // its path, for messages; empty: from a record
};

// True when a plugin of the network declares the capability.
bool Declares(const NetworkConfig& config, const std::string& capability);

enum class ConfigFormat { kConf, kList };  // one plugin's object; a list of plugins with a head

// A file with one plugin's object.
struct PluginFile {
  std::string name;  // for messages
  std::string text;
};
// The files of the directory beside a list that has the network's name, in their order. An error
// makes the list invalid.
using FilesBeside =
    std::function<absl::StatusOr<std::vector<PluginFile>>(const std::string& network)>;

// The highest known version of `cniVersions` counts. Unless the list has `loadOnlyInlinedPlugins`,
// the plugins of `beside` follow its own; null: there are none (specification 1.1.0, section 1).
// INVALID_ARGUMENT names the fault, without the file's name; errors of `beside` are returned.
absl::StatusOr<NetworkConfig> ParseConfig(absl::string_view text, ConfigFormat format,
                                          const FilesBeside& beside = nullptr);

// The configuration as a list, which ParseConfig turns back.
std::string ToJson(const NetworkConfig& config);

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_CONFIG_H_
