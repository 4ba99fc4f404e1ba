// The name of a pod.
#ifndef PLIMSOLL_AGENT_PODS_RECORDS_POD_KEY_H_
#define PLIMSOLL_AGENT_PODS_RECORDS_POD_KEY_H_

#include <compare>
#include <string>

#include "absl/strings/str_cat.h"

namespace plimsoll::agent {

// Two pods of one agent never share a key.
struct PodKey {
  std::string pod_namespace;
  std::string name;
  auto operator<=>(const PodKey&) const = default;
};

// "pod default/web", for messages.
inline std::string PodName(const PodKey& pod) {
  return absl::StrCat("pod ", pod.pod_namespace, "/", pod.name);
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_RECORDS_POD_KEY_H_
