// Null devices that are not the machine's.
#ifndef PLIMSOLL_BASE_NULL_DEVICE_H_
#define PLIMSOLL_BASE_NULL_DEVICE_H_

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll {

// A null device (null(4)) whose node is in no directory and is nobody else's, open for reading and
// writing. To be given to a container in place of /dev/null: its root may change mode and owner of
// a node that it has open, and nobody on the machine could open the machine's node any more.
// /proc/<pid>/fd/<n> shows it as "/null (deleted)" and opens it again. Without CAP_SYS_ADMIN, where
// no container is made either, it is /dev/null. Thread-safe.
absl::StatusOr<UniqueFd> OpenNullDevice();

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_NULL_DEVICE_H_
