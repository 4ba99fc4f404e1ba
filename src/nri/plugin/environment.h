// The environment variables that a runtime gives a plugin that it starts.
#ifndef PLIMSOLL_NRI_PLUGIN_ENVIRONMENT_H_
#define PLIMSOLL_NRI_PLUGIN_ENVIRONMENT_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"
#include "nri/plugin/plugin.h"

namespace plimsoll::nri {

// Sets name and index to NRI_PLUGIN_NAME and NRI_PLUGIN_IDX, where those are set: the runtime knows
// the plugin by them. INVALID_ARGUMENT: the result is no name (letters, digits and "-_.+") or no
// index (two digits).
absl::Status Identify(PluginOptions* options);

// The connected socket: `options.connected`, else the one that NRI_PLUGIN_SOCKET numbers, else
// that of a runtime which listens at `options.socket`. INVALID_ARGUMENT: the number is not that of
// a socket, or the path is no socket's. UNAVAILABLE: no runtime takes the connection.
absl::StatusOr<UniqueFd> TakeSocket(PluginOptions& options);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_PLUGIN_ENVIRONMENT_H_
