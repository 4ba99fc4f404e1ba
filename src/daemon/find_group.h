// A group of this machine's by its name.
#ifndef PLIMSOLL_DAEMON_FIND_GROUP_H_
#define PLIMSOLL_DAEMON_FIND_GROUP_H_

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace plimsoll::daemon {

// NOT_FOUND. While the daemon starts only: getgrnam(3) keeps what it gives in one place.
absl::StatusOr<gid_t> FindGroup(const std::string& name);

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_FIND_GROUP_H_
