// kubelet's cpuManagerPolicyOptions.
#ifndef PLIMSOLL_AGENT_CPU_MANAGER_CPU_OPTIONS_H_
#define PLIMSOLL_AGENT_CPU_MANAGER_CPU_OPTIONS_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace plimsoll::agent {

// Members have the options' names.
struct CpuOptions {
  bool full_pcpus_only = false;
  bool distribute_cpus_across_numa = false;
  bool align_by_socket = false;
  bool distribute_cpus_across_cores = false;
  bool strict_cpu_reservation = false;
  bool prefer_align_cpus_by_uncorecache = false;
  bool operator==(const CpuOptions&) const = default;
};

// INVALID_ARGUMENT names the option: unknown (with the closest one), a value that is no boolean of
// Go's strconv.ParseBool, or two that exclude each other.
absl::StatusOr<CpuOptions> ParseCpuOptions(const std::map<std::string, std::string>& options);

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_CPU_MANAGER_CPU_OPTIONS_H_
