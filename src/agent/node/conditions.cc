#include "agent/node/conditions.h"
#include "agent/node/kube_time.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace plimsoll::agent {

bool Conditions::Set(const std::string& type, bool is_true, std::string reason, std::string message,
                     absl::Time now) {
  const auto [at, is_new] = by_type_.emplace(type, Condition{.is_true = is_true, .since = now});
  Condition& condition = at->second;
  const bool changed = is_new || condition.is_true != is_true || condition.reason != reason ||
                       condition.message != message;
  if (condition.is_true != is_true) condition.since = now;
  condition.is_true = is_true;
  condition.reason = std::move(reason);
  condition.message = std::move(message);
  return changed;
}

const Condition* Conditions::Find(const std::string& type) const {
  const auto found = by_type_.find(type);
  return found == by_type_.end() ? nullptr : &found->second;
}

nlohmann::json Conditions::ToJson(absl::Time now) const {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [type, condition] : by_type_) {
    list.push_back({{"type", type},
                    {"status", condition.is_true ? "True" : "False"},
                    {"reason", condition.reason},
                    {"message", condition.message},
                    {"lastTransitionTime", KubeTime(condition.since)},
                    {"lastHeartbeatTime", KubeTime(now)}});
  }
  return list;
}

}  // namespace plimsoll::agent
