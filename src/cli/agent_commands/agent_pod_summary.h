// A v1 Pod in a few words, as `kubectl get pods` has them.
#ifndef PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_POD_SUMMARY_H_
#define PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_POD_SUMMARY_H_

#include <string>

#include "absl/time/time.h"
#include "cli/terminal/object_fields.h"

namespace plimsoll::cli {

struct PodSummary {
  // The phase, or the reason that says more: "CrashLoopBackOff", "Init:1/2", "Terminating".
  std::string status;
  // Containers; a sidecar counts, another init container doesn't.
  int ready = 0;
  int containers = 0;
  int64_t restarts = 0;
  absl::Time last_restart = absl::InfinitePast();
};

PodSummary Summarize(const KubeObject& pod);

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_AGENT_COMMANDS_AGENT_POD_SUMMARY_H_
