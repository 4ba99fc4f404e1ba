// What `plimsoll run` says of a pod at its end, or once it runs by itself.
#ifndef PLIMSOLL_CLI_RUN_REPORT_H_
#define PLIMSOLL_CLI_RUN_REPORT_H_

#include <string>
#include <vector>

#include "pod/manifest.h"
#include "pod/runner.h"

namespace plimsoll::cli {

// The exit code of `plimsoll run` for one pod: kExitOwnFailure, kExitInterrupted, the code of the
// first container that failed, or 0.
int ExitCodeOf(const pod::Outcome& outcome);

// For people: a line about the pod and a table of its containers.
std::string RunSummary(const pod::Manifest& pod, const pod::Outcome& outcome);
// What was asked for beside what the kernel holds, of every container that was created.
std::string ResourceTable(const pod::Outcome& outcome);

// For programs: {"exit_code": 0, "pods": [{"name": "web", "sandbox_id": "...", "containers": [...],
// ...}]}, with both of the above in it. What there is not (a pod's error, an exit code of what
// still runs) is null; times are RFC 3339 in UTC. `exit_code` is the program's own.
std::string RunJson(const std::vector<pod::Manifest>& pods,
                    const std::vector<pod::Outcome>& outcomes, int exit_code);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_RUN_REPORT_H_
