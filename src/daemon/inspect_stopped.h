// What a daemon would find to put in order, told without one: `plimsolld --inspect`.
#ifndef PLIMSOLL_DAEMON_INSPECT_STOPPED_H_
#define PLIMSOLL_DAEMON_INSPECT_STOPPED_H_

#include "absl/status/statusor.h"
#include "daemon/config.h"
#include "plimsoll/v1/node.pb.h"

namespace plimsoll::daemon {

// Looks at the directories of `config` and changes nothing in them: the database is read from a
// copy. FAILED_PRECONDITION while a daemon uses them (ask it), INVALID_ARGUMENT where there is no
// state directory, DATA_LOSS for a database that a daemon would refuse.
absl::StatusOr<::plimsoll::v1::InspectResponse> InspectStopped(const Config& config);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_INSPECT_STOPPED_H_
