// The plimsolld of this build as the runtime under test.
#ifndef PLIMSOLL_TESTS_CONFORMANCE_OWN_PLIMSOLLD_H_
#define PLIMSOLL_TESTS_CONFORMANCE_OWN_PLIMSOLLD_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/session.h"

namespace plimsoll::conformance {

// Moves this process, which must have a single thread still, into a network namespace of its own.
// It then contains the runtime, its bridge, its registries and "the host's network"; the machine's
// own network is untouched.
absl::Status EnterOwnNetwork();

// Runs on directories and a control group of its own, with a bridge as pods' network. See
// StartRuntime.
absl::StatusOr<std::unique_ptr<OwnRuntime>> StartPlimsolld(
    const FsRoot& directory, const std::vector<std::string>& insecure_registries);

// The factor by which things take longer here than on a usual machine.
double UsualPatience();

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_OWN_PLIMSOLLD_H_
