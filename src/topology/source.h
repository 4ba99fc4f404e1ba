// Where the node's topology comes from, if not from the kernel: a file (source_file.h), or a
// provider that pushes it (source_provider.h).
#ifndef PLIMSOLL_TOPOLOGY_SOURCE_H_
#define PLIMSOLL_TOPOLOGY_SOURCE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "topology/machine.h"
#include "topology/partition.h"
#include "topology/zone.h"
#include "topology/zone_tree.h"

namespace plimsoll::topology {

// What a source has at a time.
struct SourceView {
  // An error names the source and, where one is wrong, the zone: what was in force before stays.
  absl::Status status;
  std::optional<Topology> topology;  // none: the kernel's is to be used
  std::string trouble;               // worth telling people, though there is a topology
  // When it may be another without a word from fd().
  absl::Time again = absl::InfiniteFuture();
};

// Used by a Tracker's thread, after its Start by that one only.
class Source {
 public:
  virtual ~Source() = default;
  // Readable when there may be another topology. The same for as long as the source lives.
  virtual int fd() const = 0;
  // Reads what made fd() readable. True when that is worth a look.
  virtual bool Heard() = 0;
  // What there is now, held against the machine.
  virtual SourceView Look(const Machine& machine) = 0;
  // What it has from another daemon's time is not to be used after all. False: it has nothing such.
  virtual bool ForgetKept() { return false; }
};

// As Validate.
absl::Status CheckAgainst(const Topology& topology, const Machine& machine);

// The partition of a topology that is not the kernel's, made good for enforcing: without any
// cpu-ids it has all CPUs, without NUMA nodes all memory; and it is whole when the machine's own
// are all in it.
Partition FitToMachine(Partition partition, const ZoneTree& tree, const Machine& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_SOURCE_H_
