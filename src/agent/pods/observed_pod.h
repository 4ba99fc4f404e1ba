// A pod as the runtime has it: plain values of the CRI's answers.
#ifndef PLIMSOLL_AGENT_PODS_OBSERVED_POD_H_
#define PLIMSOLL_AGENT_PODS_OBSERVED_POD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace plimsoll::agent {

enum class ContainerState { kCreated, kRunning, kExited, kUnknown };

struct ObservedContainer {
  std::string id;
  std::string name;
  std::string sandbox_id;
  uint32_t attempt = 0;
  ContainerState state = ContainerState::kUnknown;
  std::string image;      // as the runtime names it
  std::string image_ref;  // with its digest
  absl::Time created;
  absl::Time started;   // the epoch: never
  absl::Time finished;  // the epoch: not yet
  int exit_code = 0;    // of an exited one
  std::string reason;   // "Completed", "Error", "OOMKilled"
  std::string message;
  std::string log_path;  // absolute
  // This agent stopped it for a failed liveness or startup probe, so that it counts as failed
  // whatever its exit code.
  bool failed_probe = false;

  // The exit code that restarts go by.
  int counted_exit_code() const { return failed_probe && exit_code == 0 ? 1 : exit_code; }
};

struct ObservedSandbox {
  std::string id;
  uint32_t attempt = 0;
  bool ready = false;
  std::vector<std::string> ips;  // the first is the pod's; none on the host's network
  // By this agent, so that its network has gone: one that died by itself has it still.
  bool stopped = false;
};

struct ObservedPod {
  std::vector<ObservedSandbox> sandboxes;     // newest first
  std::vector<ObservedContainer> containers;  // of all sandboxes, newest attempt first

  // The newest sandbox; null without one, or when it isn't ready.
  const ObservedSandbox* ReadySandbox() const;
  // The newest container of the name; null without one. `sandbox_id` empty: in any sandbox.
  const ObservedContainer* Newest(const std::string& name, const std::string& sandbox_id) const;
  bool AnyRunning() const;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_OBSERVED_POD_H_
