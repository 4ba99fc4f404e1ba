// Keeps the node's topology current: looks at the machine when the kernel reports a change, cuts
// the partition, publishes differences.
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
#include "topology/machine/known_machine.h"
#include "topology/machine_watch.h"
#include "topology/partition.h"
#include "topology/publisher.h"
#include "topology/source.h"
#include "topology/tracker_report.h"
#include "topology/zones/zone_tree.h"

namespace plimsoll::topology {

struct TrackerOptions {
  FsRoot host;                // "/", or a captured machine
  std::string hwloc_program;  // see Discover
  PartitionConfig partition;
  // The wait after the last event of a burst. A message is due 50 ms after a single event.
  absl::Duration quiet = absl::Milliseconds(15);
  // The longest burst: then a look is due even while events continue.
  absl::Duration at_most = absl::Seconds(1);
  // The longest wait until a memory module is there, or gone, as a whole.
  absl::Duration module_at_most = absl::Seconds(10);
  // For changes without a kernel event: huge page pools, and memory that a balloon takes or gives.
  absl::Duration poll_interval = absl::Seconds(5);
  // Null: the kernel's. A test has its own. If the kernel's can't be heard, Troubles says so, and
  // only the poll finds changes.
  std::shared_ptr<linux::UeventSocket> events;
  // Null: the kernel's topology. Otherwise the partition is cut from this source's topology, which
  // each look checks against the machine.
  std::shared_ptr<Source> source;
  // True: attributes machine-id, boot-id and system-uuid are the source's own; false: the
  // machine's.
  bool ids_of_source = false;
  // Called, like the tracker's news, for each sentence of Troubles that is new since the previous
  // look, including those of the first look. May be null.
  std::function<void(const std::string&)> on_trouble;
};

// The tracker's news: sent from its own thread, or from Start and Reload, one at a time, after each
// change, and after a CPU went and came back before the look. The receiver may ask the tracker, but
// not Reload it.
struct TrackerNews {
  // In force from now on. Of a partition that no longer fits the machine, the CPUs and memory nodes
  // that still exist: nobody can be confined to others.
  Partition partition;
  bool changed = false;  // the partition's CPUs or memory nodes differ from the last news
  // Cut from the kernel's topology because the source has none yet, or none any more.
  bool is_stand_in = false;
};

// Thread-safe. One thread, asleep but for events and one cheap look at each poll. A look that fails
// for a passing reason (no descriptors left) changes nothing and is soon repeated. If only memory
// changed, only memory is read again.
//
// A partition that doesn't fit doesn't stop the tracker, since a reboot with fewer CPUs would take
// exec, stop and probes from the node: the previous one stays applied. Without a previous one, as
// after a reboot, the usable rest is published and enforced. While the source has no usable
// topology, nothing is published: the kernel's, in its place, would show what the author hides. The
// partition is enforced all the same, cut from the kernel's.
class Tracker {
 public:
  // Makes the first look before it returns, whatever its result: see Misfits. `publisher` outlives
  // it; `on_partition` may be null. If nothing can be watched, the first look's result stays,
  // Troubles says so, and each Reload looks and tries to watch again.
  static std::unique_ptr<Tracker> Start(TrackerOptions options, Publisher* publisher,
                                        std::function<void(const TrackerNews&)> on_partition);
  // The destructor waits for a look under way.
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Replaces the description of the partition. On error the old one stays. While the source has no
  // usable topology, the new one is accepted unchecked.
  absl::Status Reload(PartitionConfig partition);

  // Neither of these waits for a look under way.
  Partition partition() const { return report_.partition(); }
  // Unknown facts about the machine, and why the last look changed nothing: a sentence each.
  std::vector<std::string> Troubles() const { return report_.Troubles(IsTold()); }
  // The troubles that keep the configuration from being applied.
  std::vector<std::string> Misfits() const { return report_.Misfits(IsTold()); }
  InForce in_force() const { return report_.in_force(); }
  // True when the publisher has something; otherwise Misfits gives the reason.
  bool IsTold() const { return publisher_->Newest().number != 0; }

 private:
  Tracker(TrackerOptions options, Publisher* publisher,
          std::function<void(const TrackerNews&)> on_partition);

  // Starts watching, if that has not succeeded yet.
  void Watch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  // Runs in the watch's thread: looks, and returns the time of the next look.
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
  // Called after Apply or the source failed.
  void MakeDo() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void TellWhatIsLeft() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  absl::Time NextLook() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
  void TellOutcome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(look_mutex_);
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
  // Results of the last look.
  struct Last {
    Partition news;  // the last that was told
    int64_t news_sent = 0;
    bool cpus_moved = false;            // events came, and no look has succeeded since
    bool is_stale = true;               // what is in force is to be made again
    int blind_looks = 0;                // that failed, one after the other
    std::vector<std::string> troubles;  // that were told
  };
  Last last_ ABSL_GUARDED_BY(look_mutex_);
  // Last, so that its thread ends first.
  MachineWatch watch_;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_TRACKER_H_
