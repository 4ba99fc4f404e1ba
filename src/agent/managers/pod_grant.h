// The resources given to a pod's containers for themselves: on the pod's record, where they survive
// the agent.
#ifndef PLIMSOLL_AGENT_MANAGERS_POD_GRANT_H_
#define PLIMSOLL_AGENT_MANAGERS_POD_GRANT_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/device_manager/device_stock.h"
#include "agent/memory_manager/static_memory_policy.h"
#include "pod_runner/cri_requests/context.h"
#include "resources/cpu_set.h"

namespace plimsoll::agent {

struct ContainerGrant {
  resources::CpuSet cpus;  // exclusive; empty: those that all others share
  // The number that was asked for: `cpus` has fewer after the machine lost some.
  int64_t cpu_count = 0;
  std::vector<MemoryBlock> memory;
  bool Empty() const;
  bool operator==(const ContainerGrant&) const = default;
};

struct PodGrant {
  std::map<std::string, ContainerGrant> containers;  // those that have something
  // The grant of the pod as a whole (KEP-2837); containers without CPUs of their own run on what
  // their siblings leave of these. Containers' own are part of them.
  ContainerGrant pod;
  DeviceClaims devices;
  // Plugins' answers to Allocate, by container; absent: not asked yet.
  std::map<std::string, pod::GivenDevices> device_answers;

  // All CPUs that no other pod may use.
  resources::CpuSet ExclusiveCpus() const;
  bool Empty() const;
  bool operator==(const PodGrant&) const = default;
};

// JSON for the record. INVALID_ARGUMENT from PodGrantOf: text of another shape.
nlohmann::json ToJson(const PodGrant& grant);
absl::StatusOr<PodGrant> PodGrantOf(const nlohmann::json& json);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANAGERS_POD_GRANT_H_
