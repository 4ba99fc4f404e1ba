// Sources of the node's topology other than the kernel: a file (source_file.h), or a provider that
// pushes it (source_provider.h).
#ifndef PLIMSOLL_TOPOLOGY_SOURCE_H_
#define PLIMSOLL_TOPOLOGY_SOURCE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "topology/machine/machine.h"
#include "topology/partition.h"
#include "topology/zones/zone.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {

// A source's state at one time.
struct SourceView {
  // An error names the source and, where a zone is wrong, the zone: the previous topology stays in
  // force.
  absl::Status status;
  std::optional<Topology> topology;  // none: use the kernel's
  std::string trouble;               // a message for people, although there is a topology
  // The time at which it may change without a word from fd().
  absl::Time again = absl::InfiniteFuture();
};

// Used by a Tracker's thread; after Tracker::Start by that thread only.
class Source {
 public:
  virtual ~Source() = default;
  // Readable when the topology may have changed. The same descriptor for the source's whole life.
  virtual int fd() const = 0;
  // Reads whatever made fd() readable. True when a look is worthwhile.
  virtual bool Heard() = 0;
  // The present state, checked against the machine.
  virtual SourceView Look(const Machine& machine) = 0;
  // The reason why the topology of the last Look isn't applied, after the tracker has tried;
  // empty: nothing does.
  virtual void TakeOutcome(const std::string& hindrance) { static_cast<void>(hindrance); }
  // Discards a topology kept from an earlier daemon. False: there is none in use.
  virtual bool ForgetKept() { return false; }
};

// See Validate.
absl::Status CheckAgainst(const Topology& topology, const Machine& machine);

// Completes a partition of a foreign topology for enforcement: without any cpu-ids it gets all
// CPUs, without NUMA nodes all memory; it is whole when it has all the machine's own.
Partition FitToMachine(Partition partition, const ZoneTree& tree, const Machine& machine);

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_SOURCE_H_
