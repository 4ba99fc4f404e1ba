#include "nri/validators.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/parallel_for.h"
#include "base/status.h"
#include "base/text/printable.h"
#include "nri/adjust/adjust.h"

namespace plimsoll::nri {
namespace {

constexpr size_t kMostAskedAtOnce = 16;
constexpr size_t kLongestVerdict = 1000;

absl::Status AskValidator(PluginConnection& plugin,
                          const api::ValidateContainerAdjustmentRequest& request) {
  api::ValidateContainerAdjustmentResponse response;
  const Outcome outcome = plugin.Ask(
      {api::VALIDATE_CONTAINER_ADJUSTMENT, &request, &request.pod(), &request.container()},
      &response);
  if (!outcome.answered && !plugin.IsValidator() && !plugin.policy().required) {
    return absl::OkStatus();  // it asked for all events, and is hardly one
  }
  if (!outcome.status.ok()) {
    const std::string text =
        absl::StrCat(outcome.status.message(), "; what a validator can't judge is refused");
    return outcome.answered ? absl::Status(outcome.status.code(), text)
                            : absl::UnavailableError(text);
  }
  if (!response.reject()) return absl::OkStatus();
  const std::string reason = Printable(response.reason().substr(0, kLongestVerdict));
  return absl::PermissionDeniedError(
      absl::StrCat("validator \"", plugin.name(), "\" refuses the changes to container \"",
                   request.container().name(), "\"", reason.empty() ? "" : ": ", reason));
}

}  // namespace

absl::Status AskValidators(const ValidatorConfig& config, const PluginList& plugins,
                           const api::ValidateContainerAdjustmentRequest& request) {
  PLIMSOLL_RETURN_IF_ERROR(Validate(config, request));
  PluginList validators;
  for (const auto& plugin : plugins) {
    if (plugin->Wants(api::VALIDATE_CONTAINER_ADJUSTMENT)) validators.push_back(plugin);
  }
  std::vector<absl::Status> verdicts(validators.size());
  EachAtOnce(validators.size(), kMostAskedAtOnce,
             [&](size_t i) { verdicts[i] = AskValidator(*validators[i], request); });
  for (absl::Status& verdict : verdicts) PLIMSOLL_RETURN_IF_ERROR(std::move(verdict));
  return absl::OkStatus();
}

}  // namespace plimsoll::nri
