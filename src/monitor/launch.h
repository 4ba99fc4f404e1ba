// The preparations for the OCI runtime, and the exec that becomes it.
#ifndef PLIMSOLL_MONITOR_LAUNCH_H_
#define PLIMSOLL_MONITOR_LAUNCH_H_

#include "monitor/launch_plan.h"

namespace plimsoll::monitor {

// Carries out the plan in a mount namespace of this process's own and executes `<runtime>
// --root=<root> ARGUMENT...`. The root filesystem is mounted in that namespace only, so that the
// host never sees the mount and can't keep it by mistake: it lives as long as the container's own
// copy of the namespace. `argv` is null-terminated; its first two elements are replaced.
[[noreturn]] void Launch(const LaunchPlan& plan, char** argv);

}  // namespace plimsoll::monitor

#endif  // PLIMSOLL_MONITOR_LAUNCH_H_
