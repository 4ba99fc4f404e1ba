// Pre-installed plugins on the disk: programs and their configuration.
#ifndef PLIMSOLL_NRI_PLUGIN_FILES_H_
#define PLIMSOLL_NRI_PLUGIN_FILES_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "nri/plugin_name.h"

namespace plimsoll::nri {

// Names of the executable files in `directory`, sorted; none if it doesn't exist. `warn` hears of
// executables that have no plugin's name, and of files with such a name that can't run.
absl::StatusOr<std::vector<PluginName>> FindPlugins(
    const FsRoot& host, const std::string& directory,
    const std::function<void(const std::string& file, const std::string& why)>& warn);

// Opens a plugin's program. It runs as root, so PERMISSION_DENIED unless it is a regular,
// executable file of root's (or of this process's user) that nobody else may write.
absl::StatusOr<UniqueFd> OpenPlugin(const FsRoot& host, const std::string& directory,
                                    const PluginName& name);

// The text of "10-logger.conf", else of "logger.conf"; empty if there is neither.
absl::StatusOr<std::string> ReadPluginConfig(const FsRoot& host, const std::string& directory,
                                             const PluginName& name);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_PLUGIN_FILES_H_
