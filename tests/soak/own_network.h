// A network for the soak's pods that touches nothing of the machine's.
#ifndef PLIMSOLL_TESTS_SOAK_OWN_NETWORK_H_
#define PLIMSOLL_TESTS_SOAK_OWN_NETWORK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::testing {

// Moves this process, and all that it starts, into a network namespace of its own with loopback.
// Call it while there is one thread.
absl::Status EnterOwnNetwork();

// Puts a network configuration list into <directory>/net.d: the file `list`, or if empty one with
// Debian's plugins: a bridge with addresses kept in <directory>/leases, and portmap. Returns the
// lines of the daemon's configuration for it.
absl::StatusOr<std::string> WriteNetwork(const std::string& directory, const std::string& list);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_OWN_NETWORK_H_
