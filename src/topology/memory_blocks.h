// Memory that comes or goes one block after the other, each with an event of its own, although it
// is one module: Documentation/admin-guide/mm/memory-hotplug.rst.
#ifndef PLIMSOLL_TOPOLOGY_MEMORY_BLOCKS_H_
#define PLIMSOLL_TOPOLOGY_MEMORY_BLOCKS_H_

#include <cstdint>
#include <set>

#include "base/fs_root.h"
#include "linux/uevents.h"

namespace plimsoll::topology {

// Used by one thread.
class MemoryBlocks {
 public:
  // Any event; those of other things are passed over.
  void Heard(const linux::Uevent& event);
  // Whether more is on its way: a block that was added and that the kernel is about to put online
  // by itself, or one beside a block that has gone offline that is going too. Reads a few files.
  bool AreMoving(const FsRoot& host) const;
  // What was heard up to now is no longer waited for.
  void Forget();

 private:
  std::set<uint32_t> added_;  // and not online yet
  std::set<uint32_t> gone_;   // offline
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MEMORY_BLOCKS_H_
