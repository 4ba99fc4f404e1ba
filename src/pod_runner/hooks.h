// Hooks of a container's life.
#ifndef PLIMSOLL_POD_RUNNER_HOOKS_H_
#define PLIMSOLL_POD_RUNNER_HOOKS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "pod_runner/manifest/probe.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::pod {

struct HookTarget {
  std::string container_id;
  std::string sandbox_id;
};

// Runs the hook to its end, or for `timeout_s` (0: without limit, for a GET a minute). `enough`,
// asked while a hook sleeps or waits for a network, ends it with OK. FAILED_PRECONDITION: the
// command failed, or nobody answers a GET. DEADLINE_EXCEEDED: it took too long. UNAVAILABLE: the
// runtime is away. Any answer to a GET is a success, whatever its code, as for kubelet; without a
// host it goes to the pod's address, or the machine's for a pod on its network.
absl::Status RunHook(Client& client, const HookTarget& target, const Action& hook,
                     int64_t timeout_s, const std::function<bool()>& enough);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_HOOKS_H_
