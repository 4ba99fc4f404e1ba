// Stopping and removing pods that run by themselves, whichever client made them.
#ifndef PLIMSOLL_POD_RUNNER_LIFECYCLE_H_
#define PLIMSOLL_POD_RUNNER_LIFECYCLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::pod {

inline constexpr int64_t kDefaultGraceSeconds = 30;
// Parallel calls that may each take a whole grace period. A daemon runs as many by default
// (`workers`).
inline constexpr size_t kStopsAtOnce = 64;

struct Inventory {
  std::vector<cri::PodSandbox> pods;
  std::vector<cri::Container> containers;
};

absl::StatusOr<Inventory> TakeInventory(Client& client);

// A pod's containers, whatever their state.
std::vector<const cri::Container*> ContainersOf(const Inventory& inventory,
                                                const cri::PodSandbox& pod);

// A container runs in a sandbox that is ready.
bool IsRunning(const Inventory& inventory, const cri::PodSandbox& pod);

// Stops the running containers in parallel, then the sandbox. `grace_s` below 0: the pod's own
// grace period.
absl::Status StopPod(Client& client, const Inventory& inventory, const cri::PodSandbox& pod,
                     int64_t grace_s);

// Removes the sandbox and its containers, running or not. The pod's directory stays (see
// pod_files/dir.h).
absl::Status RemovePod(Client& client, const cri::PodSandbox& pod);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_LIFECYCLE_H_
