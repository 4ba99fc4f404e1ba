// Calls of the runtime, counted under kubelet's names (pkg/kubelet/kuberuntime, "instrumented").
#ifndef PLIMSOLL_AGENT_RUNTIME_OPERATIONS_H_
#define PLIMSOLL_AGENT_RUNTIME_OPERATIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/counters/counters.h"
#include "pod_runner/runtime_client/client.h"

namespace plimsoll::agent {

// kubelet's operation_type of a CRI request: "run_podsandbox" of "RunPodSandboxRequest". A request
// that kubelet has no word for is spelt the same way.
std::string OperationType(absl::string_view request);

// Counts one finished call, and its error.
void CountOperation(Counters& counters, absl::string_view request, const absl::Status& status,
                    absl::Duration time);

// The options of a client whose calls are counted. `counters` outlives the client.
pod::ClientOptions CountedCalls(const std::string& address, Counters& counters);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_RUNTIME_OPERATIONS_H_
