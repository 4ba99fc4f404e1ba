// Removing a pod for `plimsoll rm` and `plimsoll prune`.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_REMOVE_POD_H_
#define PLIMSOLL_CLI_POD_COMMANDS_REMOVE_POD_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/terminal/api.h"
#include "pod_runner/lifecycle.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::cli {

// The names by which FindPod finds each of `pods`: "namespace/name", and the id where two pods
// share that.
std::vector<std::string> NamesOf(const std::vector<cri::PodSandbox>& pods);

// Removes the pod with its logs and emptyDir volumes below the daemon's `state_directory`.
// FAILED_PRECONDITION, with a hint, where a container runs and `force` is not given.
absl::Status RemovePod(pod::Client& client, const pod::Inventory& inventory,
                       const cri::PodSandbox& pod, bool force, const std::string& state_directory);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_REMOVE_POD_H_
