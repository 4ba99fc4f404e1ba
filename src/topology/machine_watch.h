// The watch over the machine: kernel events of CPUs and memory, the swaps, the source's descriptor.
#ifndef PLIMSOLL_TOPOLOGY_MACHINE_WATCH_H_
#define PLIMSOLL_TOPOLOGY_MACHINE_WATCH_H_

#include <atomic>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "linux/quiet_watch.h"
#include "linux/uevents.h"
#include "topology/machine/memory_blocks.h"
#include "topology/source.h"

namespace plimsoll::topology {

// Calls a look after each burst of events, in a thread of its own, asleep otherwise. Its end waits
// for a look under way. Listen and Start are for one thread at a time.
class MachineWatch {
 public:
  struct Options {
    FsRoot host;
    absl::Duration quiet;            // after the last event of a burst
    absl::Duration at_most;          // of a burst that doesn't end
    absl::Duration module_at_most;   // until all of a memory module is there, or gone
    absl::Duration poll_interval;    // for the messages of errors
    std::shared_ptr<Source> source;  // null: none
    // Null: the kernel's.
    std::shared_ptr<linux::UeventSocket> events;
  };
  explicit MachineWatch(Options options);

  // Opens the socket of kernel events. Before the first look, so that no event is missed in
  // between. On error changes of CPUs and memory are found by the poll.
  absl::Status Listen();
  // Begins to watch, for events that Listen has opened. `look` returns when it wants to be called
  // again at the latest; `first` is that time at the beginning.
  absl::Status Start(absl::Time first, std::function<absl::Time()> look);
  bool is_watching() const { return watch_ != nullptr; }
  // Whether a CPU came or went since the last call, or may have: it can be back by the time of the
  // look.
  bool TakeCpuEvents() { return has_cpu_events_.exchange(false); }

 private:
  bool ReadEvents();

  const Options options_;
  const UniqueFd swaps_;        // proc/swaps polls as exceptional when it has changed
  MemoryBlocks memory_blocks_;  // used by the watch's thread
  std::atomic<bool> has_cpu_events_ = false;
  // Null: the kernel can't be heard. Used by the watch's thread, once that runs.
  std::shared_ptr<linux::UeventSocket> events_;
  // Set at most once. Last, so that it ends first.
  std::unique_ptr<linux::QuietWatch> watch_;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_MACHINE_WATCH_H_
