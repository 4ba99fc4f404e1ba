// Null devices separate from the machine's /dev/null.
#ifndef PLIMSOLL_BASE_PROGRAMS_NULL_DEVICE_H_
#define PLIMSOLL_BASE_PROGRAMS_NULL_DEVICE_H_

#include "absl/status/statusor.h"
#include "base/unique_fd.h"

namespace plimsoll {

// A null device (null(4)) whose node is in no directory and belongs to this process alone, open for
// reading and writing. Containers get it in place of /dev/null: a container's root may change mode
// and owner of an open node, and then nobody on the machine could open the machine's own.
// /proc/<pid>/fd/<n> shows it as "/null (deleted)" and opens it again. Without CAP_SYS_ADMIN, where
// no container is made either, it is /dev/null. Thread-safe.
absl::StatusOr<UniqueFd> OpenNullDevice();

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROGRAMS_NULL_DEVICE_H_
