// Running the OCI runtime's `create`.
#ifndef PLIMSOLL_MONITOR_CREATION_H_
#define PLIMSOLL_MONITOR_CREATION_H_

#include <sys/types.h>

#include "monitor/launch_plan.h"
#include "monitor/output_stream.h"

namespace plimsoll::monitor {

struct CreateResult {
  pid_t init = -1;           // -1: creation failed, and `error` says why
  char error[4096];          // the runtime's error message
  int terminal = -1;         // the master, if the plan asks for a terminal
  int input = -1;            // the writer of its standard input, if that stays open
  int mount_namespace = -1;  // the runtime's: closing it destroys that namespace
};

// Runs `<runtime> create` for container `id` by the plan, in the container's run directory as
// working directory, and waits for its end. The container's output will come through `out` and
// `err`, a terminal's through `out`. The caller must be a child subreaper, so that init becomes its
// child.
void CreateContainer(const char* id, const LaunchPlan& plan, OutputStream* out, OutputStream* err,
                     CreateResult* creation);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_CREATION_H_
