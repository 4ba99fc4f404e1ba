#include "service/feature_gates.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/text/closest_word.h"

namespace plimsoll {

namespace {

absl::Status UnknownGate(const std::string& name, const std::map<std::string, bool>& gates) {
  std::vector<std::string> names;
  for (const auto& [known, enabled] : gates) names.push_back(known);
  const std::string closest = ClosestWord(name, names);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown feature gate '", name, "'",
                   closest.empty() ? absl::StrCat(", there are ", absl::StrJoin(names, ", "))
                                   : absl::StrCat("; did you mean '", closest, "'?")));
}

}  // namespace

FeatureGates::FeatureGates()
    : gates_({{"ClassResources", true},
              {"InPlacePodVerticalScaling", true},
              {"KubeletContainerResourcesInPodSandbox", true},
              {"KubeletResourceDiscoveryFromCRI", true},
              {"NodeResourceHotPlug", true},
              {"PodLevelResourceManagers", true}}) {}

absl::Status FeatureGates::Set(absl::string_view text) {
  std::map<std::string, bool> gates = gates_;
  for (absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::string name(absl::StripAsciiWhitespace(halves.first));
    const absl::string_view value = absl::StripAsciiWhitespace(halves.second);
    const auto gate = gates.find(name);
    if (gate == gates.end()) return UnknownGate(name, gates);
    if (value != "true" && value != "false") {
      return absl::InvalidArgumentError(
          absl::StrCat("feature gate ", name, ": expected true or false, found '", value, "'"));
    }
    gate->second = value == "true";
  }
  gates_ = std::move(gates);
  return absl::OkStatus();
}

}  // namespace plimsoll
