// The patch that `plimsoll resize` sends.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_RESIZE_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_RESIZE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {

// Amounts as typed; empty: not to be changed.
struct WantedAmounts {
  std::string cpu;          // request and limit, those that the container has
  std::string cpu_request;  // stands before `cpu`
  std::string cpu_limit;    // likewise
  std::string memory;       // as for CPU
  std::string memory_request;
  std::string memory_limit;

  bool empty() const;
};

// Names of the pod's containers and of its sidecars.
std::vector<std::string> ResizableContainerNames(const KubeObject& pod);

// The container that is meant: the named one, or the only one. NOT_FOUND; INVALID_ARGUMENT: there
// are several, which the message names.
absl::StatusOr<std::string> ContainerToResize(const KubeObject& pod, const std::string& name);

// A v1 Pod with the container's name and the new resources alone. An amount for request and limit
// sets both where the container has neither. INVALID_ARGUMENT: an amount can't be read.
absl::StatusOr<KubeObject> ResizePatch(const KubeObject& pod, const std::string& container,
                                       const WantedAmounts& wanted);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_RESIZE_H_
