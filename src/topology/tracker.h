// Keeps the node's topology current: looks at the machine when the kernel says that something has
// changed, cuts the partition, publishes what differs.
#ifndef PLIMSOLL_TOPOLOGY_TRACKER_H_
#define PLIMSOLL_TOPOLOGY_TRACKER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "linux/uevents.h"
#include "topology/followed_source.h"
#include "topology/known_machine.h"
#include "topology/machine_watch.h"
#include "topology/partition.h"
#include "topology/publisher.h"
#include "topology/source.h"
#include "topology/tracker_report.h"
#include "topology/zone_tree.h"

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
  // Null: the kernel's. A test has its own. Where the kernel's can't be heard, Troubles says so,
  // and changes are found by the poll.
  std::shared_ptr<linux::UeventSocket> events;
  // Null: the kernel's topology. Another's is what the partition is cut from, and is held against
  // the machine at each look.
  std::shared_ptr<Source> source;
  // Attributes machine-id, boot-id and system-uuid are the source's own; else the machine's.
  bool ids_of_source = false;
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
  // Cut from the kernel's topology for want of the source's, which has told nothing yet or tells
  // nothing any more.
  bool is_stand_in = false;
};

// Thread-safe. One thread, asleep but for events and one cheap look at each poll. A look that fails
// for a passing reason (no descriptors left) leaves everything as it was and is made again soon. Of
// a machine whose memory moves, memory alone is read again.
//
// A partition that doesn't fit is no reason not to be there: what was in force stays. Where nothing
// was, as after a reboot, what is left of the partition is told and kept to. A source without a
// topology that can be used has nothing told until it has one: the kernel's, in its place, would be
// what its author hides. The partition is kept to all the same, cut from the kernel's.
class Tracker {
 public:
  // Makes the first look before it returns, however that ends: see Misfits. `publisher` outlives
  // it; `on_partition` may be null. Where nothing can be watched, what the first look saw stays,
  // Troubles says so, and each Reload looks and tries to watch again.
  static std::unique_ptr<Tracker> Start(TrackerOptions options, Publisher* publisher,
                                        std::function<void(const TrackerNews&)> on_partition);
  // Its end waits for a look under way.
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Another description of the partition. On error the old one stays. While the source has no
  // topology that can be used, it is taken without being held against it.
  absl::Status Reload(PartitionConfig partition);

  // Neither waits for a look that is under way.
  Partition partition() const { return report_.partition(); }
  // What the machine does not tell, and why the last look changed nothing: a sentence each.
  std::vector<std::string> Troubles() const { return report_.Troubles(IsTold()); }
  // Of those the ones for which something else is in force than what should be.
  std::vector<std::string> Misfits() const { return report_.Misfits(IsTold()); }
  InForce in_force() const { return report_.in_force(); }
  // Whether the publisher has something; else Misfits says why not.
  bool IsTold() const { return publisher_->Newest().number != 0; }

 private:
  Tracker(TrackerOptions options, Publisher* publisher,
          std::function<void(const TrackerNews&)> on_partition);

  // Begins to watch, if that has not succeeded yet.
  void Watch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  // In the watch's thread: looks, and says when to look again at the latest.
  absl::Time LookAndRest();
  // All changes of anything are in here.
  absl::Status Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  absl::Status ReadMachine() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  absl::Status ReadSource() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  // The tree that the partition is cut from.
  absl::StatusOr<ZoneTree> Tree() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  absl::Status Apply() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void Take(Partition partition, InForce in_force, bool is_told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void TellNews(Partition partition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  // After an Apply or a source that failed.
  void MakeDo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void TellWhatIsLeft() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  absl::Time NextLook() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void TellTroubles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);

  const TrackerOptions options_;
  Publisher* const publisher_;
  const std::function<void(const TrackerNews&)> on_partition_;
  TrackerReport report_;

  // Held over a look, which may take long. Taken before the report's.
  absl::Mutex look_mutex_;
  PartitionConfig config_ ABSL_GUARDED_BY(look_mutex_);
  KnownMachine machine_ ABSL_GUARDED_BY(look_mutex_);
  FollowedSource source_ ABSL_GUARDED_BY(look_mutex_);
  // Of the last look.
  struct Last {
    Partition news;                     // the last that was told
    bool is_stale = true;               // what is in force is to be made anew
    int blind_looks = 0;                // that failed, one after the other
    std::vector<std::string> troubles;  // that were told
  };
  Last last_ ABSL_GUARDED_BY(look_mutex_);
  // Last, so that its thread ends first.
  MachineWatch watch_;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_TRACKER_H_
