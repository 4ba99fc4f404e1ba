// Which container a command line means that is to run something in one.
#ifndef PLIMSOLL_CLI_RUNNING_CONTAINER_H_
#define PLIMSOLL_CLI_RUNNING_CONTAINER_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/api.h"
#include "pod/client.h"

namespace plimsoll::cli {

// `name` as of FindPodOrContainer; a pod stands for its first ordinary container, as in kubectl.
// FAILED_PRECONDITION when it doesn't run.
absl::StatusOr<cri::Container> RunningContainer(pod::Client& client, const std::string& name);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_RUNNING_CONTAINER_H_
