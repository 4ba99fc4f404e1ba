// Connections to plugins' sockets.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_CHANNEL_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_CHANNEL_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::agent {

// A plugin's list of devices may have so many bytes, as under kubelet.
inline constexpr int kMaxPluginMessageBytes = 4 * 1024 * 1024;

// A socket in a directory by its file name. INVALID_ARGUMENT: the name leads elsewhere.
absl::Status CheckSocketName(absl::string_view name);

// Connects, without waiting, to the socket at the path below `root`. The channel ends with this
// connection. NOT_FOUND; FAILED_PRECONDITION: no socket; UNAVAILABLE: nobody listens, or the
// plugin accepts no connections now.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToPlugin(const FsRoot& root,
                                                               const std::string& path);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_PLUGIN_CHANNEL_H_
