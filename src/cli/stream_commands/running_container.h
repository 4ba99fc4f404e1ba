// Finds the container in which a command is to run.
#ifndef PLIMSOLL_CLI_STREAM_COMMANDS_RUNNING_CONTAINER_H_
#define PLIMSOLL_CLI_STREAM_COMMANDS_RUNNING_CONTAINER_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/terminal/api.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::cli {

// `name` and `container_name` as for FindPodOrContainer. A pod alone stands for its first ordinary
// container, as in kubectl. FAILED_PRECONDITION: it doesn't run.
absl::StatusOr<cri::Container> RunningContainer(pod::Client& client, const std::string& name,
                                                const std::string& container_name = "");

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_STREAM_COMMANDS_RUNNING_CONTAINER_H_
