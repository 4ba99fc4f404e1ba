// Keeps the node's topology current: looks at the machine when the kernel says that something has
// changed, cuts the partition, publishes what differs.
#ifndef PLIMSOLL_TOPOLOGY_TRACKER_H_
#define PLIMSOLL_TOPOLOGY_TRACKER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "linux/quiet_watch.h"
#include "linux/uevents.h"
#include "topology/machine.h"
#include "topology/memory_blocks.h"
#include "topology/partition.h"
#include "topology/publisher.h"
#include "topology/source.h"

namespace plimsoll::topology {

struct TrackerOptions {
  FsRoot host;                // "/", or a captured machine
  std::string hwloc_program;  // see Discover
  PartitionConfig partition;
  // After the last event of a burst. A message is due 50 ms after a single event.
  absl::Duration quiet = absl::Milliseconds(15);
  // A burst that does not end is looked at all the same.
  absl::Duration at_most = absl::Seconds(1);
  // A memory module is waited for until all of it is there, or gone, but no longer than that.
  absl::Duration module_at_most = absl::Seconds(10);
  // For what the kernel has no event of: huge page pools, and memory that a balloon takes or gives.
  absl::Duration poll_interval = absl::Seconds(5);
  // Null: the kernel's. A test has its own.
  std::shared_ptr<linux::UeventSocket> events;
  // Null: the kernel's topology. Another's is what the partition is cut from, and is held against
  // the machine at each look.
  std::shared_ptr<Source> source;
  // Told of each sentence of Troubles that was not among them after the look before, those of the
  // first look included; as the tracker's news are. May be null.
  std::function<void(const std::string&)> on_trouble;
};

// What a tracker tells: from its own thread, or from Start and Reload, one after the other. It may
// ask the tracker, but not Reload it.
struct TrackerNews {
  // In force from now on. Of one that no longer fits the machine, the CPUs and memory nodes that
  // are still there: nobody can be kept to others.
  Partition partition;
  bool changed = false;  // the partition's CPUs or memory nodes, since the last time
};

// Thread-safe. One thread, asleep but for events and one cheap look at each poll. A look that fails
// for a passing reason (no descriptors left) leaves everything as it was and is made again soon.
class Tracker {
 public:
  // Publishes the first topology before it returns. FAILED_PRECONDITION when the partition or the
  // source's topology does not fit the machine; other errors of the source as it gives them.
  // `publisher` outlives it; `on_partition` may be null.
  static absl::StatusOr<std::unique_ptr<Tracker>> Start(
      TrackerOptions options, Publisher* publisher,
      std::function<void(const TrackerNews&)> on_partition);
  // Its end waits for a look under way.
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Another description of the partition. On error the old one stays in force.
  absl::Status Reload(PartitionConfig partition);

  // Neither waits for a look that is under way.
  Partition partition() const;
  // What the machine does not tell, and why the last look changed nothing: a sentence each.
  std::vector<std::string> Troubles() const;
  // Of those the ones for which something older is in force than what should be.
  std::vector<std::string> Misfits() const;

 private:
  Tracker(TrackerOptions options, Publisher* publisher,
          std::function<void(const TrackerNews&)> on_partition, UniqueFd swaps);

  absl::Status Watch();
  bool ReadEvents();
  // In the watch's thread: looks, and says when to look again at the latest.
  absl::Time LookAndRest();
  // All that changes anything is in here.
  absl::Status Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  absl::Status ReadMachine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  absl::Status ReadSource() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  absl::Status Apply() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void TellNews(Partition partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void TellWhatIsLeft() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void Note(std::string Tracker::*trouble, const absl::Status& status);
  void TellTroubles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);

  const TrackerOptions options_;
  Publisher* const publisher_;
  const std::function<void(const TrackerNews&)> on_partition_;
  const UniqueFd swaps_;  // proc/swaps polls as exceptional when it has changed

  // Held over a look, which may take long. Taken before mutex_.
  absl::Mutex look_mutex_;
  PartitionConfig config_ ABSL_GUARDED_BY(look_mutex_);
  std::string signature_ ABSL_GUARDED_BY(look_mutex_);
  std::optional<Machine> machine_ ABSL_GUARDED_BY(look_mutex_);
  std::optional<Topology> told_ ABSL_GUARDED_BY(look_mutex_);  // by the source
  absl::Time source_again_ ABSL_GUARDED_BY(look_mutex_) = absl::InfiniteFuture();
  Partition news_ ABSL_GUARDED_BY(look_mutex_);        // the last that was told
  bool is_stale_ ABSL_GUARDED_BY(look_mutex_) = true;  // what is in force, to be made anew
  int blind_looks_ ABSL_GUARDED_BY(look_mutex_) = 0;   // that failed, one after the other
  std::vector<std::string> told_troubles_ ABSL_GUARDED_BY(look_mutex_);

  // Held for moments: what others ask for.
  mutable absl::Mutex mutex_;
  Partition partition_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> missing_ ABSL_GUARDED_BY(mutex_);
  std::string blind_ ABSL_GUARDED_BY(mutex_);   // why the last look saw nothing
  std::string misfit_ ABSL_GUARDED_BY(mutex_);  // why what it saw could not be taken
  std::string source_error_ ABSL_GUARDED_BY(mutex_);
  std::string source_trouble_ ABSL_GUARDED_BY(mutex_);

  MemoryBlocks memory_blocks_;  // of the watch's thread

  std::unique_ptr<linux::QuietWatch> watch_;  // last, so that it ends first
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_TRACKER_H_
