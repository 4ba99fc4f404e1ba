// CNI network configurations: the administrator's files, read strictly enough that what is wrong
// with one is told before a pod needs it. Source: the CNI specification 0.3.1 to 1.1.0, "Network
// configuration format".
#ifndef PLIMSOLL_NETWORK_CONFIG_H_
#define PLIMSOLL_NETWORK_CONFIG_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::network {

inline constexpr size_t kMaxConfigBytes = 1024 * 1024;  // of a file

// Of the CNI specification, in their order.
enum class Version { k031, k040, k100, k110 };
const char* VersionName(Version version);  // "0.3.1"
// INVALID_ARGUMENT names those there are.
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
  std::string type;                    // the name of its program
  std::set<std::string> capabilities;  // that it declares
  std::string json;                    // its object as in the file
};

struct NetworkConfig {
  std::string name;
  Version version = Version::k031;
  bool disable_check = false;
  bool disable_gc = false;
  std::vector<PluginConfig> plugins;  // in the order of ADD; at least one
  std::string file;                   // where it is from, for messages; empty: from a record
};

// Whether a plugin of it does.
bool Declares(const NetworkConfig& config, const std::string& capability);

enum class ConfigFormat { kConf, kList };  // one plugin's object; a list of plugins with a head

// Of `cniVersions` the highest that this knows counts. INVALID_ARGUMENT says what is wrong, without
// the file's name.
absl::StatusOr<NetworkConfig> ParseConfig(absl::string_view text, ConfigFormat format);

// As a list; ParseConfig gives the same again.
std::string ToJson(const NetworkConfig& config);

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_CONFIG_H_
