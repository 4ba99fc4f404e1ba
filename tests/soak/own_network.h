// A network for the soak's pods that nothing of the machine's is touched for.
#ifndef PLIMSOLL_TESTS_SOAK_OWN_NETWORK_H_
#define PLIMSOLL_TESTS_SOAK_OWN_NETWORK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::testing {

// This process, and what it starts, gets a network namespace of its own with loopback. To be called
// while it has one thread.
absl::Status EnterOwnNetwork();

// Puts a network configuration list into <directory>/net.d: that file's, or where it is empty one
// with Debian's plugins: a bridge with addresses that are kept in <directory>/leases, and portmap.
// The lines of the daemon's configuration that name it.
absl::StatusOr<std::string> WriteNetwork(const std::string& directory, const std::string& list);

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_OWN_NETWORK_H_
