#include "agent/enforcement_config.h"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::agent {
namespace {

constexpr char kNone[] = "none";
constexpr char kPodsToo[] = "pods";

absl::Status Wrong(absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("enforceNodeAllocatable: ", why));
}

absl::Status CheckValue(const AgentConfig& config, const std::string& value) {
  const bool is_system = absl::StartsWith(value, "system-reserved");
  const bool is_kube = absl::StartsWith(value, "kube-reserved");
  const std::set<std::string> known = {kPodsToo, "system-reserved", "system-reserved-compressible",
                                       "kube-reserved", "kube-reserved-compressible"};
  if (!known.contains(value)) {
    return Wrong(absl::StrCat("\"", value,
                              "\" is none of pods, system-reserved, system-reserved-compressible, "
                              "kube-reserved, kube-reserved-compressible and none"));
  }
  if (is_system && config.system_reserved_cgroup.empty()) {
    return Wrong(absl::StrCat(value, " needs systemReservedCgroup"));
  }
  if (is_kube && config.kube_reserved_cgroup.empty()) {
    return Wrong(absl::StrCat(value, " needs kubeReservedCgroup"));
  }
  if (config.cgroups_per_qos) return absl::OkStatus();
  return Wrong(absl::StrCat(value, " needs cgroupsPerQOS: true"));
}

}  // namespace

void ReadEnforcement(YamlReader& reader, YamlMapping& mapping, AgentConfig& config) {
  config.enforce_node_allocatable = {config.cgroups_per_qos ? kPodsToo : kNone};
  if (const auto node = mapping.Get("enforceNodeAllocatable")) {
    config.enforce_node_allocatable.clear();
    reader.Strings(*node, mapping.PathOf("enforceNodeAllocatable"),
                   config.enforce_node_allocatable);
  }
  for (const auto& [key, out] : {std::pair("systemReservedCgroup", &config.system_reserved_cgroup),
                                 std::pair("kubeReservedCgroup", &config.kube_reserved_cgroup)}) {
    mapping.String(key, *out);
    const auto node = mapping.Get(key);
    if (node && !out->empty() && !absl::StartsWith(*out, "/")) {
      reader.Fail(*node, mapping.PathOf(key), "must be a cgroup's path, as /system.slice");
    }
  }
  mapping.Bool("failSwapOn", config.fail_swap_on);
  const auto swap = mapping.Get("memorySwap");
  if (!swap) return;
  YamlMapping keys(reader, *swap, mapping.PathOf("memorySwap"));
  keys.OneOf("swapBehavior", config.swap_behavior, {"NoSwap", "LimitedSwap", ""});
  if (config.swap_behavior.empty()) config.swap_behavior = "NoSwap";
  keys.Finish();
}

void ShowEnforcement(const AgentConfig& config, nlohmann::json& object) {
  object["enforceNodeAllocatable"] = config.enforce_node_allocatable;
  object["failSwapOn"] = config.fail_swap_on;
  object["memorySwap"] = {{"swapBehavior", config.swap_behavior}};
  if (!config.system_reserved_cgroup.empty()) {
    object["systemReservedCgroup"] = config.system_reserved_cgroup;
  }
  if (!config.kube_reserved_cgroup.empty()) {
    object["kubeReservedCgroup"] = config.kube_reserved_cgroup;
  }
}

absl::Status CheckEnforcement(const AgentConfig& config) {
  const std::vector<std::string>& values = config.enforce_node_allocatable;
  const std::set<std::string> distinct(values.begin(), values.end());
  if (distinct.size() != values.size()) return Wrong("a value is there twice");
  for (const char* group : {"system-reserved", "kube-reserved"}) {
    if (distinct.contains(group) && distinct.contains(absl::StrCat(group, "-compressible"))) {
      return Wrong(absl::StrCat(group, " and ", group, "-compressible exclude each other"));
    }
  }
  if (distinct.contains(kNone)) {
    return distinct.size() == 1 ? absl::OkStatus() : Wrong("none stands alone");
  }
  for (const std::string& value : values) {
    const absl::Status checked = CheckValue(config, value);
    if (!checked.ok()) return checked;
  }
  return absl::OkStatus();
}

bool Enforces(const AgentConfig& config, const std::string& what) {
  return absl::c_linear_search(config.enforce_node_allocatable, what);
}

pod::SwapBehavior SwapBehaviorOf(const AgentConfig& config) {
  return config.swap_behavior == "LimitedSwap" ? pod::SwapBehavior::kLimitedSwap
                                               : pod::SwapBehavior::kNoSwap;
}

}  // namespace plimsoll::agent
