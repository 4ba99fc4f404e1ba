// Problems that keep this machine from being a Ready node with this configuration.
#ifndef PLIMSOLL_DAEMON_CHECK_NODE_H_
#define PLIMSOLL_DAEMON_CHECK_NODE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/config/config.h"
#include "preflight/preflight.h"

namespace plimsoll::daemon {

// Runs the preflight checks. `version`: this program's. Changes nothing, and needs no daemon; an
// error: the machine's control groups can't be read. Without root it may miss who has a port.
absl::StatusOr<std::vector<preflight::Problem>> CheckThisNode(const Config& config,
                                                              const std::string& version);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_CHECK_NODE_H_
