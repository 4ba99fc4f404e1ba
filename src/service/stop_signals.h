// The signals that end a program.
#ifndef PLIMSOLL_SERVICE_STOP_SIGNALS_H_
#define PLIMSOLL_SERVICE_STOP_SIGNALS_H_

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll {

// Blocks SIGTERM, SIGINT and SIGHUP, and ignores SIGPIPE and SIGXFSZ, since a failed write reports
// the same. Called before other threads start: they inherit the mask. WaitForStop reads the result.
absl::StatusOr<UniqueFd> BlockStopSignals();

// True once SIGTERM or SIGINT has come; takes it, so a later call doesn't see it again. Doesn't
// wait.
bool TakeStop(const UniqueFd& signals);

// Waits for SIGTERM or SIGINT. For programs that read nothing again at SIGHUP: it changes nothing.
void WaitForStop(const UniqueFd& signals);

}  // namespace plimsoll

#endif  // PLIMSOLL_SERVICE_STOP_SIGNALS_H_
