// Time as Kubernetes writes it in objects.
#ifndef PLIMSOLL_AGENT_NODE_KUBE_TIME_H_
#define PLIMSOLL_AGENT_NODE_KUBE_TIME_H_

#include <string>

#include "absl/time/time.h"

namespace plimsoll::agent {

// RFC 3339 in UTC, whole seconds (metav1.Time): "2026-11-24T16:00:00Z".
inline std::string KubeTime(absl::Time time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone());
}

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_NODE_KUBE_TIME_H_
