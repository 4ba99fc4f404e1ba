// Validators: plugins that may refuse what the others change.
#ifndef PLIMSOLL_NRI_VALIDATORS_H_
#define PLIMSOLL_NRI_VALIDATORS_H_

#include "absl/status/status.h"
#include "nri/config.h"
#include "nri/roster.h"
#include "nri/v1alpha1/api.pb.h"

namespace plimsoll::nri {

// Asks Plimsoll's own validator, then those among `plugins`, all at once. PERMISSION_DENIED names
// the validator and its reason. A validator that fails refuses, even an optional one: a guard that
// can't be heard must not be passed. After its strikes it is gone, and then only a required one is
// missed.
absl::Status AskValidators(const ValidatorConfig& config, const PluginList& plugins,
                           const api::ValidateContainerAdjustmentRequest& request);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_VALIDATORS_H_
