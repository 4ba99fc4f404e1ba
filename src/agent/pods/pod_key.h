// The name of a pod.
#ifndef PLIMSOLL_AGENT_PODS_POD_KEY_H_
#define PLIMSOLL_AGENT_PODS_POD_KEY_H_

#include <compare>
#include <string>

namespace plimsoll::agent {

// Two pods of one agent never share a key.
struct PodKey {
  std::string pod_namespace;
  std::string name;
  auto operator<=>(const PodKey&) const = default;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_POD_KEY_H_
