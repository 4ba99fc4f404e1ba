// Probes' kinds and their results.
#ifndef PLIMSOLL_AGENT_PROBES_PROBE_KIND_H_
#define PLIMSOLL_AGENT_PROBES_PROBE_KIND_H_

#include <cstdint>
#include <optional>
#include <string>

namespace plimsoll::agent {

enum class ProbeKind { kStartup, kLiveness, kReadiness };

// "Startup", "Liveness", "Readiness": as in kubelet's events and metrics.
inline const char* ProbeKindName(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kStartup:
      return "Startup";
    case ProbeKind::kLiveness:
      return "Liveness";
    case ProbeKind::kReadiness:
      return "Readiness";
  }
  return "";
}

// The result of one probe.
struct ProbeOutcome {
  enum class Result {
    kSuccess,
    kWarning,  // counts as a success
    kFailure,
    kUnknown,  // nobody could tell: counts for nothing
  };
  Result result = Result::kUnknown;
  std::string words;  // the program's or the network's, for people; of bounded length
};

// A startup or liveness probe has failed as often as it may: the container is to end.
struct FailedProbe {
  ProbeKind kind = ProbeKind::kLiveness;
  std::optional<int64_t> grace_period_s;  // in place of the pod's
};

// A running container, as its probes have it.
struct ContainerHealth {
  bool started = true;  // the startup probe has succeeded, or there is none
  bool ready = true;    // started, and the readiness probe succeeds, or there is none
  std::optional<FailedProbe> failed;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PROBES_PROBE_KIND_H_
