// The plimsolld of this build as the runtime under test.
#ifndef PLIMSOLL_TESTS_CONFORMANCE_OWN_PLIMSOLLD_H_
#define PLIMSOLL_TESTS_CONFORMANCE_OWN_PLIMSOLLD_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "conformance/session.h"

namespace plimsoll::conformance {

// On directories and a control group of its own. See StartRuntime.
absl::StatusOr<std::unique_ptr<OwnRuntime>> StartPlimsolld(
    const FsRoot& directory, const std::vector<std::string>& insecure_registries);

// How much longer things take here than on a usual machine.
double UsualPatience();

}  // namespace plimsoll::conformance

#endif  // PLIMSOLL_TESTS_CONFORMANCE_OWN_PLIMSOLLD_H_
