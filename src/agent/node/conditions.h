// A node's conditions: status.conditions.
#ifndef PLIMSOLL_AGENT_NODE_CONDITIONS_H_
#define PLIMSOLL_AGENT_NODE_CONDITIONS_H_

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/time/time.h"

namespace plimsoll::agent {

inline constexpr char kReady[] = "Ready";

struct Condition {
  bool is_true = false;
  std::string reason;   // one word, CamelCase
  std::string message;  // for people
  absl::Time since;     // lastTransitionTime: when is_true became what it is
};

// One of each type. Not thread-safe.
class Conditions {
 public:
  // True if anything but the time is new. `since` moves only when is_true does.
  bool Set(const std::string& type, bool is_true, std::string reason, std::string message,
           absl::Time now);
  // Null: no such condition.
  const Condition* Find(const std::string& type) const;
  // The conditions of a v1 Node, sorted by type; lastHeartbeatTime is `now`.
  nlohmann::json ToJson(absl::Time now) const;

 private:
  std::map<std::string, Condition> by_type_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_CONDITIONS_H_
