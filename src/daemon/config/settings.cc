#include "daemon/config/settings.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status.h"
#include "base/text/problems.h"
#include "yaml/config_place.h"

namespace plimsoll::daemon {
namespace {

// "log.level" becomes "--log-level".
std::string FlagOf(absl::string_view key) {
  return absl::StrCat("--", absl::StrReplaceAll(key, {{".", "-"}, {"_", "-"}}));
}

void Define(CLI::App& app, const std::string& version, DaemonFlags& flags) {
  app.set_version_flag("--version", "plimsolld " + version, "print the version and exit");
  app.add_option(
         "--config", flags.config,
         absl::StrCat("configuration file (default: ", kDefaultConfigPath, ", if it is there)"))
      ->type_name("FILE");
  app.add_flag("--check-config", flags.check_config,
               "check configuration and flags, print errors and warnings, and exit");
  app.add_flag("--inspect", flags.inspect,
               "print, as JSON, the differences that a daemon's recovery would find here, change "
               "nothing, and exit");
  app.add_flag("--check-node", flags.check_node,
               "print, as JSON, what keeps this machine from being a Ready node under kubelet, "
               "change nothing, and exit");
  app.add_option("--ready-fd", flags.ready_fd,
                 "write one byte to this descriptor once the socket is served")
      ->type_name("N")
      ->check(CLI::Range(3, 1 << 20));
  CLI::Option* const standalone =
      app.add_flag("--standalone", flags.standalone,
                   "end once no client holds clients.lock in the run directory");
  app.add_flag("--keep-streams", flags.keep_streams,
               "let open streams of exec, attach and port-forward go on after a stop, in a process "
               "that stays behind: for a service whose manager restarts it")
      ->excludes(standalone);
  for (const OptionName& option : OptionNames()) {
    const std::string key = option.key;
    app.add_option_function<std::string>(
           FlagOf(key),
           [&flags, key](const std::string& value) { flags.options.emplace_back(key, value); },
           option.help)
        ->type_name("VALUE")
        ->group("Configuration (as in the file, see plimsolld.yaml(5))");
  }
}

// For readers in other directories.
std::string FromRoot(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace

std::optional<EarlyExit> ParseFlags(int argc, const char* const* argv, const std::string& version,
                                    DaemonFlags& flags) {
  CLI::App app("The Plimsoll runtime daemon: serves the CRI on a unix socket.", "plimsolld");
  Define(app, version, flags);
  return ParseCommandLine(app, argc, argv);
}

// A flag's value has no place in the file.
absl::Status Placed(const DaemonFlags& flags, const std::string& path, const absl::Status& fault) {
  return flags.options.empty() ? WithPlaces(fault, path) : fault;
}

absl::StatusOr<Settings> LoadSettings(const DaemonFlags& flags, const std::string& default_path) {
  Settings settings;
  if (flags.config.has_value()) {
    settings.config_path = *flags.config;
  } else if (access(default_path.c_str(), F_OK) == 0) {
    settings.config_path = default_path;
  }
  Config& config = settings.config;
  if (!settings.config_path.empty()) {
    PLIMSOLL_ASSIGN_OR_RETURN(config, LoadConfig(settings.config_path));
  }
  if (flags.standalone) {
    const Config defaults;
    config.address = defaults.address;
    config.socket_group = defaults.socket_group;
    config.state_dir = defaults.state_dir;
    config.run_dir = defaults.run_dir;
    config.metrics_address = defaults.metrics_address;
    config.kube.socket = "";
    config.kube.socket_group = defaults.kube.socket_group;
    config.nri.enabled = false;
  }
  for (const auto& [key, value] : flags.options) {
    PLIMSOLL_RETURN_IF_ERROR(Annotate(SetOption(config, key, value), FlagOf(key)));
  }
  absl::Status valid = ValidateConfig(config);
  // A standalone daemon has no such socket, whatever the file says.
  if (!flags.standalone) valid = AlsoTell(valid, CheckScheduler(config));
  PLIMSOLL_RETURN_IF_ERROR(Placed(flags, settings.config_path, valid));
  if (!settings.config_path.empty()) settings.config_path = FromRoot(settings.config_path);
  return settings;
}

}  // namespace plimsoll::daemon
