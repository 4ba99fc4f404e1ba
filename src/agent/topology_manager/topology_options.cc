#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/topology_manager/topology_manager.h"
#include "base/status.h"
#include "base/text/closest_word.h"
#include "base/text/go_bool.h"

namespace plimsoll::agent {
namespace {

constexpr char kPreferClosest[] = "prefer-closest-numa-nodes";
constexpr char kMaxNodes[] = "max-allowable-numa-nodes";
constexpr int kFewestMaxNodes = 8;

constexpr std::array kPolicies = {TopologyPolicy::kNone, TopologyPolicy::kBestEffort,
                                  TopologyPolicy::kRestricted, TopologyPolicy::kSingleNumaNode};

absl::Status Unknown(absl::string_view key, absl::string_view value,
                     const std::vector<std::string>& valid) {
  const std::string meant = ClosestWord(value, valid);
  return absl::InvalidArgumentError(
      absl::StrCat(key, ": \"", value, "\" is none of ", absl::StrJoin(valid, ", "),
                   meant.empty() ? "" : absl::StrCat("; did you mean \"", meant, "\"?")));
}

absl::StatusOr<TopologyPolicy> ParsePolicy(absl::string_view text) {
  if (text.empty()) return TopologyPolicy::kNone;  // kubelet's default
  std::vector<std::string> valid;
  for (const TopologyPolicy policy : kPolicies) {
    if (text == TopologyPolicyName(policy)) return policy;
    valid.emplace_back(TopologyPolicyName(policy));
  }
  return Unknown("topologyManagerPolicy", text, valid);
}

absl::StatusOr<TopologyScope> ParseScope(absl::string_view text) {
  if (text.empty() || text == "container") return TopologyScope::kContainer;
  if (text == "pod") return TopologyScope::kPod;
  return Unknown("topologyManagerScope", text, {"container", "pod"});
}

absl::Status BadValue(absl::string_view option, absl::string_view value, absl::string_view valid) {
  return absl::InvalidArgumentError(
      absl::StrCat("topologyManagerPolicyOptions: ", option, ": \"", value, "\" is no ", valid));
}

absl::Status ParseOption(const std::string& option, const std::string& value,
                         TopologyOptions& options) {
  if (option == kPreferClosest) {
    const auto flag = GoBool(value);
    if (!flag) return BadValue(option, value, "boolean: true or false");
    options.prefer_closest = *flag;
    return absl::OkStatus();
  }
  if (option == kMaxNodes) {
    int64_t number = 0;
    const bool is_number = value.find_first_not_of("+0123456789") == std::string::npos;
    if (!is_number || !absl::SimpleAtoi(value, &number) || number < kFewestMaxNodes) {
      return BadValue(option, value, absl::StrCat("number from ", kFewestMaxNodes, " on"));
    }
    options.max_nodes =
        static_cast<int>(std::min<int64_t>(number, std::numeric_limits<int>::max()));
    return absl::OkStatus();
  }
  return Unknown("topologyManagerPolicyOptions", option, {kPreferClosest, kMaxNodes});
}

}  // namespace

const char* TopologyPolicyName(TopologyPolicy policy) {
  switch (policy) {
    case TopologyPolicy::kBestEffort:
      return "best-effort";
    case TopologyPolicy::kRestricted:
      return "restricted";
    case TopologyPolicy::kSingleNumaNode:
      return "single-numa-node";
    case TopologyPolicy::kNone:
      break;
  }
  return "none";
}

absl::StatusOr<TopologyOptions> ParseTopologyOptions(
    absl::string_view policy, absl::string_view scope,
    const std::map<std::string, std::string>& options) {
  TopologyOptions parsed;
  PLIMSOLL_ASSIGN_OR_RETURN(parsed.policy, ParsePolicy(policy));
  PLIMSOLL_ASSIGN_OR_RETURN(parsed.scope, ParseScope(scope));
  for (const auto& [option, value] : options) {
    PLIMSOLL_RETURN_IF_ERROR(ParseOption(option, value, parsed));
  }
  return parsed;
}

}  // namespace plimsoll::agent
