// A KubeletConfiguration (kubelet.config.k8s.io/v1beta1), as far as it decides which CPUs and how
// much memory kubelet gives to pods, and on which machines it starts.
#ifndef PLIMSOLL_KUBELET_CONFIG_CONFIGURATION_H_
#define PLIMSOLL_KUBELET_CONFIG_CONFIGURATION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace plimsoll::kubelet {

// Names as in the document; quantities as written. Defaults are kubelet's.
struct Configuration {
  struct ReservedMemory {
    uint32_t numa_node = 0;
    std::map<std::string, std::string> limits;
  };

  std::string container_runtime_endpoint;
  std::string reserved_system_cpus;
  std::string cpu_manager_policy = "none";
  std::map<std::string, std::string> cpu_manager_policy_options;
  std::string memory_manager_policy = "None";
  std::map<std::string, std::string> system_reserved;
  std::map<std::string, std::string> kube_reserved;
  std::string system_reserved_cgroup;
  std::string kube_reserved_cgroup;
  std::optional<std::map<std::string, std::string>> eviction_hard;
  bool merge_default_eviction_settings = false;
  std::vector<ReservedMemory> reserved_memory;
  std::string swap_behavior;  // memorySwap.swapBehavior
  bool fail_swap_on = true;
  std::optional<bool> fail_cgroup_v1;  // the default depends on kubelet's version
  std::string cgroup_driver = "cgroupfs";
  bool protect_kernel_defaults = false;
};

// Lays a document over `configuration` as kubelet lays its drop-ins over its file: scalars replace,
// mappings merge key by key, lists replace. JSON is YAML; kubelet's /configz, which is
// {"kubeletconfig": ...}, is taken too. Unknown keys are passed over. INVALID_ARGUMENT with file,
// line and column; `configuration` is then undefined.
absl::Status Overlay(const std::string& text, const std::string& file,
                     Configuration* configuration);

// Bytes that kubelet keeps from pods for eviction of `capacity` bytes of memory, by evictionHard's
// memory.available: an amount, or a share in percent. INVALID_ARGUMENT: neither.
absl::StatusOr<uint64_t> EvictionBytes(const Configuration& configuration, uint64_t capacity);

// Bytes of "memory" in systemReserved or kubeReserved; 0 without. INVALID_ARGUMENT: no amount.
absl::StatusOr<uint64_t> MemoryIn(const std::map<std::string, std::string>& reserved);

// The option strict-cpu-reservation is on.
bool IsStrict(const Configuration& configuration);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_CONFIG_CONFIGURATION_H_
