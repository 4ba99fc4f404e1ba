// The command line, and the configuration made from it and the file.
#ifndef PLIMSOLL_DAEMON_CONFIG_SETTINGS_H_
#define PLIMSOLL_DAEMON_CONFIG_SETTINGS_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/text/command_line.h"
#include "daemon/config/config.h"

namespace plimsoll::daemon {

struct DaemonFlags {
  std::optional<std::string> config;  // --config
  bool check_config = false;
  bool inspect = false;
  bool check_node = false;
  bool standalone = false;
  bool keep_streams = false;
  int ready_fd = -1;
  std::vector<std::pair<std::string, std::string>> options;  // key of the file, value
};

// Fills `flags`, or returns an immediate exit.
std::optional<EarlyExit> ParseFlags(int argc, const char* const* argv, const std::string& version,
                                    DaemonFlags& flags);

struct Settings {
  Config config;
  std::string config_path;  // empty: no file
};

// `fault` with the places of its keys in the configuration file at `path` (config_place.h), unless
// a flag may be at fault.
absl::Status Placed(const DaemonFlags& flags, const std::string& path, const absl::Status& fault);

// Reads the file (the default one only if it exists), then the flags, then checks the whole. A
// standalone daemon shares nothing with the machine's own: it takes address, socket_group,
// state_dir, run_dir, metrics.address and nri.enabled from flags only.
absl::StatusOr<Settings> LoadSettings(const DaemonFlags& flags,
                                      const std::string& default_path = kDefaultConfigPath);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CONFIG_SETTINGS_H_
