// kubelet's cpu_manager_state: which CPUs it gave to whom.
#ifndef PLIMSOLL_KUBELET_CONFIG_CPU_STATE_H_
#define PLIMSOLL_KUBELET_CONFIG_CPU_STATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resources/cpu_set.h"

namespace plimsoll::kubelet {

struct CpuState {
  struct Entry {
    std::string holder;  // "container web of pod 3f2a..."
    resources::CpuSet cpus;
  };

  std::string policy;        // "none", "static"
  resources::CpuSet shared;  // defaultCpuSet: of containers without CPUs of their own
  std::vector<Entry> exclusive;
};

// INVALID_ARGUMENT: no such document. Its checksum is kubelet's own.
absl::StatusOr<CpuState> ReadCpuState(const std::string& json);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_CONFIG_CPU_STATE_H_
