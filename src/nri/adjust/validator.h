// Plimsoll's own validator of what plugins change.
#ifndef PLIMSOLL_NRI_ADJUST_VALIDATOR_H_
#define PLIMSOLL_NRI_ADJUST_VALIDATOR_H_

#include "absl/status/status.h"
#include "nri/adjust/validator_config.h"
#include "nri/v1alpha1/api.pb.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// A list of names, YAML or JSON, of plugins that must have seen a container: of the whole pod, or
// with "/pod" behind it the same, or with "/container.<name>" for one container alone, which
// precedes the pod's.
inline constexpr char kRequiredPluginsAnnotation[] = "required-plugins.noderesource.dev";

// OK, or PERMISSION_DENIED with the plugin, the field and the setting; of a plugin that is missing,
// with the setting or annotation that requires it. INVALID_ARGUMENT names an annotation that can't
// be read.
absl::Status Validate(const ValidatorConfig& config,
                      const api::ValidateContainerAdjustmentRequest& request);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ADJUST_VALIDATOR_H_
