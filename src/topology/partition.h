// Kubernetes' part of a node: its CPUs and memory, and the topology shown for it.
//
// The administrator describes it (partition_config.h reads that), and each change of the machine
// evaluates the description again. CPUs and memory nodes are enforced; `show` affects only the
// reported topology.
#ifndef PLIMSOLL_TOPOLOGY_PARTITION_H_
#define PLIMSOLL_TOPOLOGY_PARTITION_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "resources/cpu_set.h"
#include "resources/quantity.h"
#include "topology/zones/zone.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {

// A choice of CPUs: exactly one of these, or none for all.
struct CpuChoice {
  std::optional<resources::CpuSet> list;
  // A number of CPUs: whole cores where they fit, from the end of the tree, so that the first CPUs
  // stay with the system.
  std::optional<uint32_t> count;
  std::vector<std::string> zones;             // all CPUs of these zones
  std::optional<resources::CpuSet> reserved;  // all CPUs but these
  bool operator==(const CpuChoice&) const = default;
};

// An amount of a NUMA node's memory: bytes, or a share.
struct Amount {
  std::optional<resources::Quantity> quantity;
  double percent = 100;  // 0 to 100, without a quantity
  bool operator==(const Amount&) const = default;
};

struct Show {
  std::set<std::string> hidden_types;  // zone types to leave out; not Machine
  bool hide_siblings = false;          // show only the first CPU of each core
  std::optional<uint32_t> cores;       // show only the first so many
  std::map<std::string, std::map<std::string, std::string>> attributes;  // added, by zone
  bool operator==(const Show&) const = default;
};

struct PartitionConfig {
  CpuChoice cpus;
  // "memory" or "hugepages-2Mi" -> NUMA node's zone -> amount. A node without an entry gives all it
  // has, if it has CPUs of the partition or no CPUs at all; but a node whose entry for "memory" is
  // zero keeps everything without an entry from the partition.
  std::map<std::string, std::map<std::string, Amount>> memory;
  Show show;
  bool operator==(const PartitionConfig&) const = default;
};

struct Partition {
  resources::CpuSet cpus;
  resources::CpuSet memory_nodes;  // the kernel's numbers
  Topology shown;
  bool is_whole = false;  // all CPUs and all memory nodes: nothing to enforce
};

// FAILED_PRECONDITION names the part of the configuration that does not fit this machine: missing
// CPUs or zones, more CPUs than there are, more memory than a node has, nothing left, attributes
// that clients can't read (Validate).
absl::StatusOr<Partition> MakePartition(const PartitionConfig& config, const ZoneTree& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_PARTITION_H_
