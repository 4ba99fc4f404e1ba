// Stopping and removing pods, for the commands that do.
#ifndef PLIMSOLL_CLI_POD_LIFECYCLE_H_
#define PLIMSOLL_CLI_POD_LIFECYCLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/client.h"

namespace plimsoll::cli {

inline constexpr int64_t kDefaultGraceSeconds = 30;
// Calls that may each take a whole grace period; as many wait in a daemon by default (`workers`).
inline constexpr size_t kStopsAtOnce = 64;

struct Inventory {
  std::vector<cri::PodSandbox> pods;
  std::vector<cri::Container> containers;
};

absl::StatusOr<Inventory> TakeInventory(Client& client);

// A pod's containers, whatever their state.
std::vector<const cri::Container*> ContainersOf(const Inventory& inventory,
                                                const cri::PodSandbox& pod);

// Names by which FindPod finds each of `pods`: "namespace/name", and the id where two share it.
std::vector<std::string> NamesOf(const std::vector<cri::PodSandbox>& pods);

// Its running containers at once, then the sandbox. `grace_s` below 0: as long as the pod says.
absl::Status StopPod(Client& client, const Inventory& inventory, const cri::PodSandbox& pod,
                     int64_t grace_s);

// With its logs and emptyDir volumes below the daemon's `state_directory`. FAILED_PRECONDITION,
// with a hint, where something of it runs and `force` is not given.
absl::Status RemovePod(Client& client, const Inventory& inventory, const cri::PodSandbox& pod,
                       bool force, const std::string& state_directory);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_LIFECYCLE_H_
