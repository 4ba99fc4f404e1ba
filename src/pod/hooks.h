// Hooks of a container's life that run in the container, or only take time.
#ifndef PLIMSOLL_POD_HOOKS_H_
#define PLIMSOLL_POD_HOOKS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "pod/client.h"
#include "pod/probe.h"

namespace plimsoll::pod {

// True for exec and sleep: RunHook runs these.
bool CanRun(const Action& hook);

// Runs the hook to its end, or for `timeout_s` (0: without limit). `enough`, asked while a hook
// sleeps, ends it. FAILED_PRECONDITION: the command failed. DEADLINE_EXCEEDED: it took too long.
absl::Status RunHook(Client& client, const std::string& container_id, const Action& hook,
                     int64_t timeout_s, const std::function<bool()>& enough);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_HOOKS_H_
