// Looks up a group of this machine by name.
#ifndef PLIMSOLL_DAEMON_CONFIG_FIND_GROUP_H_
#define PLIMSOLL_DAEMON_CONFIG_FIND_GROUP_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/config/config.h"

namespace plimsoll::daemon {

// NOT_FOUND. Only in the daemon's main thread: getgrnam(3) returns static storage.
absl::StatusOr<gid_t> FindGroup(const std::string& name);

// The group of kube.socket as the configuration says it: none for "", a group that may be missing
// for "auto", and NOT_FOUND for another name that this machine doesn't know.
absl::StatusOr<std::optional<gid_t>> FindClusterGroup(const KubeConfig& config);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CONFIG_FIND_GROUP_H_
