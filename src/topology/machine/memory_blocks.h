// Tracks memory that comes or goes block by block, each with an event of its own, although it is
// one module: Documentation/admin-guide/mm/memory-hotplug.rst.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_MEMORY_BLOCKS_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_MEMORY_BLOCKS_H_

#include <cstdint>
#include <set>

#include "base/fs_root.h"
#include "linux/uevents.h"

namespace plimsoll::topology {

// Used by one thread.
class MemoryBlocks {
 public:
  // Takes any event; ignores those of other subsystems.
  void Heard(const linux::Uevent& event);
  // True when more events are coming: the kernel is about to put an added block online itself, or a
  // block beside an offline one is going too. Reads a few files.
  bool AreMoving(const FsRoot& host) const;
  // Stops waiting for the blocks heard of so far.
  void Forget();

 private:
  std::set<uint32_t> added_;  // not online yet
  std::set<uint32_t> gone_;   // offline
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_MEMORY_BLOCKS_H_
