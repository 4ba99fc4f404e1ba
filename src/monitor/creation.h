// Running the OCI runtime's `create`.
#ifndef PLIMSOLL_MONITOR_CREATION_H_
#define PLIMSOLL_MONITOR_CREATION_H_

#include <sys/types.h>

#include "monitor/launch_plan.h"
#include "monitor/output_stream.h"

namespace plimsoll::monitor {

struct Creation {
  pid_t init = -1;           // -1: it failed, and `error` says why
  char error[4096];          // the runtime's own words
  int terminal = -1;         // the master, where the plan asks for a terminal
  int input = -1;            // the writer of its standard input, where that stays open
  int mount_namespace = -1;  // of the runtime: closing it takes that namespace down
};

// Runs `<runtime> create` for container `id` as the plan says, in the container's run directory as
// working directory, and waits for its end. The container's output will come through `out` and
// `err`, a terminal's through `out`. Must be called by a process that is a child subreaper, so that
// init becomes its child.
void CreateContainer(const char* id, const LaunchPlan& plan, OutputStream* out, OutputStream* err,
                     Creation* creation);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_CREATION_H_
