// A pod as the runtime has it: plain values of the CRI's answers.
#ifndef PLIMSOLL_AGENT_PODS_RECORDS_OBSERVED_POD_H_
#define PLIMSOLL_AGENT_PODS_RECORDS_OBSERVED_POD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

enum class ObservedState { kCreated, kRunning, kExited, kUnknown };

// The end of a pod, for good: its phase.
enum class PodEnd { kSucceeded, kFailed };

// The resources of a container as its status reports them (KEP-2273).
struct ReportedResources {
  int64_t cpu_shares = 0;               // 0: not told
  int64_t cpu_quota_us = 0;             // 0, -1: no limit
  int64_t cpu_period_us = 0;            // 0: 100000
  int64_t memory_limit_bytes = 0;       // 0, -1: no limit
  int64_t memory_swap_limit_bytes = 0;  // of both together; 0: not told, -1: no limit
  int64_t oom_score_adj = 0;            // 0: not told
  std::string cpus;                     // the kernel's list; empty: not told
  std::string memory_nodes;             // likewise
  // The client's last requests and limits (KEP-4112); nullopt: the runtime reports none.
  std::optional<resources::Requirements> written;
};

struct ObservedContainer {
  std::string id;
  std::string name;
  std::string sandbox_id;
  uint32_t attempt = 0;
  ObservedState state = ObservedState::kUnknown;
  std::string image;      // as the runtime names it
  std::string image_ref;  // with its digest
  absl::Time created;
  absl::Time started;   // the epoch: never
  absl::Time finished;  // the epoch: not yet
  int exit_code = 0;    // of an exited one
  std::string reason;   // "Completed", "Error", "OOMKilled"
  std::string message;
  std::string log_path;  // absolute
  // PodRecord::allocated_generation at its creation.
  int64_t generation = 1;
  // The resources of a container that ran; nullopt: the runtime reports none.
  std::optional<ReportedResources> resources;
  // The applied classes, type to class; nullopt: the runtime doesn't report them.
  std::optional<std::map<std::string, std::string>> classes = std::nullopt;
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
  std::optional<std::map<std::string, std::string>> classes = std::nullopt;  // as a container's
  // Stopped by this agent, which takes down its network: one that died by itself has it still.
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

#endif  // PLIMSOLL_AGENT_PODS_RECORDS_OBSERVED_POD_H_
