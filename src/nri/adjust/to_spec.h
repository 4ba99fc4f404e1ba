// An adjustment made in the engine's spec of a container.
#ifndef PLIMSOLL_NRI_ADJUST_TO_SPEC_H_
#define PLIMSOLL_NRI_ADJUST_TO_SPEC_H_

#include "absl/status/status.h"
#include "nri/adjust/owners.h"
#include "nri/v1alpha1/api.pb.h"
#include "runtime/spec/container_spec.h"

namespace plimsoll::nri {

// Makes all changes of `adjustment`, a result of Overlay, but `changed_by`. Values are checked as
// far as that is possible without the machine. `owners` has the plugin of each field, for messages:
// INVALID_ARGUMENT for a value that is wrong anywhere, FAILED_PRECONDITION for what this container
// can't have, UNIMPLEMENTED for what no container of Plimsoll can have. After an error the spec is
// half changed.
absl::Status ApplyToSpec(const api::ContainerAdjustment& adjustment, const Owners& owners,
                         runtime::ContainerSpec* spec);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ADJUST_TO_SPEC_H_
