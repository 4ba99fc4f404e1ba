// The report of `plimsoll run` on a pod at its end, or once it runs detached.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_RUN_REPORT_H_
#define PLIMSOLL_CLI_POD_COMMANDS_RUN_REPORT_H_

#include <string>
#include <vector>

#include "pod_runner/manifest/manifest.h"
#include "pod_runner/runner.h"

namespace plimsoll::cli {

// The exit code of `plimsoll run` for one pod: kExitOwnFailure, kExitInterrupted, the code of the
// first container that failed, or 0.
int ExitCodeOf(const pod::Outcome& outcome);

// For people: a line about the pod and a table of its containers.
std::string RunSummary(const pod::Manifest& pod, const pod::Outcome& outcome);
// Values that were asked for beside those that the kernel holds, of every created container.
std::string ResourceTable(const pod::Outcome& outcome);

// For programs: {"exit_code": 0, "pods": [{"name": "web", "sandbox_id": "...", "containers": [...],
// ...}]}, with the content of both of the above. A missing value (a pod's error, the exit code of a
// running container) is null. Times are RFC 3339 in UTC. `exit_code` is the program's own.
std::string RunJson(const std::vector<pod::Manifest>& pods,
                    const std::vector<pod::Outcome>& outcomes, int exit_code);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_RUN_REPORT_H_
