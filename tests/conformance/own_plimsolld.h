// The plimsolld of this build as the runtime under test.
#ifndef PLIMSOLL_TESTS_CONFORMANCE_OWN_PLIMSOLLD_H_
#define PLIMSOLL_TESTS_CONFORMANCE_OWN_PLIMSOLLD_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/session.h"

namespace plimsoll::conformance {

// Takes the whole process, which must have one thread yet, into a network namespace of its own: the
// runtime, its bridge, its registries and what counts as the host's network are then in it, and the
// machine's network is as before.
absl::Status EnterOwnNetwork();

// On directories and a control group of its own, with a bridge as pods' network. See StartRuntime.
absl::StatusOr<std::unique_ptr<OwnRuntime>> StartPlimsolld(
    const FsRoot& directory, const std::vector<std::string>& insecure_registries);

// How much longer things take here than on a usual machine.
double UsualPatience();

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_OWN_PLIMSOLLD_H_
