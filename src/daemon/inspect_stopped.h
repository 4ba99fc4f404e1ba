// `plimsolld --inspect`: the repairs that a daemon would make at its start, found without one.
#ifndef PLIMSOLL_DAEMON_INSPECT_STOPPED_H_
#define PLIMSOLL_DAEMON_INSPECT_STOPPED_H_

#include "absl/status/statusor.h"
#include "daemon/config/config.h"
#include "plimsoll/v1/node.pb.h"

namespace plimsoll::daemon {

// Reads the directories of `config` and changes nothing in them: the database is read from a copy.
// FAILED_PRECONDITION while a daemon uses them (ask it), INVALID_ARGUMENT without a state
// directory, DATA_LOSS for a database that a daemon would refuse.
absl::StatusOr<::plimsoll::v1::InspectResponse> InspectStopped(const Config& config);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_INSPECT_STOPPED_H_
