// The machine as it was read last.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_KNOWN_MACHINE_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_KNOWN_MACHINE_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/fs_root.h"
#include "topology/machine/discover.h"
#include "topology/machine/machine.h"

namespace plimsoll::topology {

// Reads again only the part whose signature differs: of a machine whose memory moves, memory alone.
// For one thread.
class KnownMachine {
 public:
  // `hwloc_program`: see Discover.
  KnownMachine(FsRoot host, std::string hwloc_program)
      : host_(std::move(host)), hwloc_program_(std::move(hwloc_program)) {}

  // Whether the machine is another than before, or read for the first time. On error the one that
  // was read before stays.
  absl::StatusOr<bool> Read();
  // After the first Read that was OK.
  const Machine& operator*() const { return *machine_; }
  const Machine* operator->() const { return &*machine_; }

 private:
  const FsRoot host_;
  const std::string hwloc_program_;
  MachineSignature signature_;
  std::optional<Machine> processors_;  // before AddMemory
  std::optional<Machine> machine_;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_KNOWN_MACHINE_H_
