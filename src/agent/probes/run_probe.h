// The run of one probe.
#ifndef PLIMSOLL_AGENT_PROBES_RUN_PROBE_H_
#define PLIMSOLL_AGENT_PROBES_RUN_PROBE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/probes/probe_kind.h"
#include "pod_runner/manifest/probe.h"

namespace plimsoll::agent {

// An ended command of a probe.
struct ProbeCommandEnd {
  int exit_code = 0;
  std::string output;  // and standard error behind it
};

// Runs a command in a container and ends it after `timeout_s`, with DEADLINE_EXCEEDED. Other errors
// say nothing of the container.
using RunProbeCommand = std::function<absl::StatusOr<ProbeCommandEnd>(
    const std::string& container_id, const std::vector<std::string>& command, int64_t timeout_s)>;

struct ProbeTarget {
  std::string container_id;
  std::string address;  // the pod's; of the host for a pod on its network; empty: it has none
};

// Takes the probe's timeout at most, three times it for a command that can't be run at all, and a
// look-up of a host's name beyond that. `given_up` ends it soon, with kUnknown: commands excepted.
ProbeOutcome RunProbe(const pod::Probe& probe, const ProbeTarget& target,
                      const RunProbeCommand& command, const std::function<bool()>& given_up);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PROBES_RUN_PROBE_H_
