#include "daemon/feature_gates.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace plimsoll::daemon {

FeatureGates::FeatureGates()
    : gates_({{"ClassResources", true},
              {"InPlacePodVerticalScaling", true},
              {"KubeletContainerResourcesInPodSandbox", true},
              {"KubeletResourceDiscoveryFromCRI", true},
              {"NodeResourceHotPlug", true}}) {}

absl::Status FeatureGates::Set(absl::string_view text) {
  std::map<std::string, bool> gates = gates_;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::string name(absl::StripAsciiWhitespace(halves.first));
    const absl::string_view value = absl::StripAsciiWhitespace(halves.second);
    const auto gate = gates.find(name);
    if (gate == gates.end()) {
      const auto name_only = [](std::string* out, const auto& entry) { *out += entry.first; };
      return absl::InvalidArgumentError(absl::StrCat(
          "unknown feature gate '", name, "', there are ", absl::StrJoin(gates, ", ", name_only)));
    }
    if (value != "true" && value != "false") {
      return absl::InvalidArgumentError(
          absl::StrCat("feature gate ", name, ": expected true or false, found '", value, "'"));
    }
    gate->second = value == "true";
  }
  gates_ = std::move(gates);
  return absl::OkStatus();
}

}  // namespace plimsoll::daemon
