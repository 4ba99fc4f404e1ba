// The process in front of the daemon that the service manager takes for the service.
//
// A service has stopped for its manager when its main process has ended, and only then its next
// start begins. Streams live in the daemon's process, together with the commands' exit codes. So
// where they outlive a restart, the daemon is a child of the main process, which ends before it.
#ifndef PLIMSOLL_DAEMON_MAIN_PROCESS_H_
#define PLIMSOLL_DAEMON_MAIN_PROCESS_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace plimsoll::daemon {

// Forks, and returns nullopt in the child, where the daemon goes on. The parent passes SIGTERM,
// SIGINT and SIGHUP on to it, and returns the exit code for itself: the child's (128 + signal if
// one ended it), or 0 after EndMainProcess. If the parent is killed, so is the child. Call it with
// these three signals blocked, before the first thread.
absl::StatusOr<std::optional<int>> BecomeMainProcess();

// NotifyServiceManager by the parent: with systemd's default (NotifyAccess=main) a unit accepts
// messages from no other process. By this process if it has no such parent.
absl::Status NotifyByMainProcess(absl::string_view state);

// Called in the child, by the thread of BecomeMainProcess: ends the parent, and the child goes on
// alone.
void EndMainProcess();

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_MAIN_PROCESS_H_
