// The amounts that kubelet counts on this machine, and the part that plimsolld reports as pods'.
#ifndef PLIMSOLL_KUBELET_CONFIG_NODE_SHARE_H_
#define PLIMSOLL_KUBELET_CONFIG_NODE_SHARE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resources/cpu_set.h"
#include "topology/machine/machine.h"
#include "topology/zones/zone.h"

namespace plimsoll::kubelet {

// A kernel's NUMA node. Amounts in bytes; memory includes huge pages, as the kernel's MemTotal
// does.
struct NumaShare {
  uint64_t memory = 0;
  uint64_t hugepages = 0;
  // Memory that kubelet's memory manager counts, by the node's own file; 0: not known. Some kernels
  // leave out memory that was added after the start.
  uint64_t file_memory = 0;
  // The reported part of it; none: all is left out.
  uint64_t told_memory = 0;
  uint64_t told_hugepages = 0;
};

struct KubeletShare {
  resources::CpuSet cpus;  // online
  // The told topology names CPUs. Without, it has their number alone, and `told_cpus` is empty.
  bool has_numbers = false;
  resources::CpuSet told_cpus;
  uint64_t told_cpu_count = 0;
  std::map<uint32_t, NumaShare> nodes;  // by the kernel's number
  // Memory told outside of NUMA nodes, which hide their level: no share of any node.
  bool has_hidden_nodes = false;
  uint64_t told_memory = 0;  // sums over all zones
  uint64_t told_hugepages = 0;
  // "hugepages-2Mi" -> bytes of the machine that aren't told.
  std::map<std::string, uint64_t> left_hugepages;
  uint64_t swap = 0;

  resources::CpuSet LeftOut() const;  // CPUs that aren't told
  // The machine's memory beside huge pages, and the reported part.
  uint64_t PlainMemory() const;
  uint64_t ToldPlainMemory() const;
};

// `online` are the CPUs that kubelet counts: all of /sys/devices/system/cpu/online, also those that
// `machine` lacks because a cpuset keeps containers from them. FAILED_PRECONDITION: the topology
// names CPUs or NUMA nodes that the machine lacks, or more memory than it has; INVALID_ARGUMENT: it
// is no tree.
absl::StatusOr<KubeletShare> ShareOf(const topology::Topology& told,
                                     const topology::Machine& machine,
                                     const resources::CpuSet& online);

}  // namespace plimsoll::kubelet

#endif  // PLIMSOLL_KUBELET_CONFIG_NODE_SHARE_H_
