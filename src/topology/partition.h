// What of a node is Kubernetes': which CPUs and how much memory, and how that is shown.
//
// A plain description of the administrator's (partition_config.h reads it) is held against the
// machine each time the machine changes. CPUs and memory nodes decide what is enforced; `show`
// decides only what is reported.
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
#include "topology/zone.h"
#include "topology/zone_tree.h"

namespace plimsoll::topology {

// Which CPUs: exactly one of these, or none for all.
struct CpuChoice {
  std::optional<resources::CpuSet> list;
  // That many: whole cores where they fit, from the end of the tree, so that the first CPUs stay
  // with the system.
  std::optional<uint32_t> count;
  std::vector<std::string> zones;             // all of these zones'
  std::optional<resources::CpuSet> reserved;  // all but these
  bool operator==(const CpuChoice&) const = default;
};

// How much of a NUMA node's: bytes, or a share of what it has.
struct Amount {
  std::optional<resources::Quantity> quantity;
  double percent = 100;  // 0 to 100, without a quantity
  bool operator==(const Amount&) const = default;
};

struct Show {
  std::set<std::string> hidden_types;  // zone types that are left out; not Machine
  bool hide_siblings = false;          // of each core the first CPU only
  std::optional<uint32_t> cores;       // no more than these; the first
  std::map<std::string, std::map<std::string, std::string>> attributes;  // added, by zone
  bool operator==(const Show&) const = default;
};

struct PartitionConfig {
  CpuChoice cpus;
  // "memory" or "hugepages-2Mi" -> NUMA node's zone -> how much. A node that isn't named gives all
  // it has, if it has CPUs of the partition or no CPUs at all, and not if its memory is named and
  // is none: then it is left to others but for what is named.
  std::map<std::string, std::map<std::string, Amount>> memory;
  Show show;
  bool operator==(const PartitionConfig&) const = default;
};

struct Partition {
  resources::CpuSet cpus;
  resources::CpuSet memory_nodes;  // the kernel's numbers
  Topology shown;
  bool is_whole = false;  // all CPUs and all memory nodes: nothing to be enforced
};

// FAILED_PRECONDITION says what of the configuration does not fit this machine: CPUs or zones that
// it lacks, more CPUs than there are, more memory than a node has, nothing left.
absl::StatusOr<Partition> MakePartition(const PartitionConfig& config, const ZoneTree& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_PARTITION_H_
