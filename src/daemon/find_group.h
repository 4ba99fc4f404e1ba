// Looks up a group of this machine by name.
#ifndef PLIMSOLL_DAEMON_FIND_GROUP_H_
#define PLIMSOLL_DAEMON_FIND_GROUP_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace plimsoll::daemon {

// NOT_FOUND. Only during the daemon's start: getgrnam(3) returns static storage.
absl::StatusOr<gid_t> FindGroup(const std::string& name);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_FIND_GROUP_H_
