// Keeps the node's topology current: looks at the machine when the kernel says that something has
// changed, cuts the partition, publishes what differs.
#ifndef PLIMSOLL_TOPOLOGY_TRACKER_H_
#define PLIMSOLL_TOPOLOGY_TRACKER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "linux/uevents.h"
#include "topology/machine.h"
#include "topology/partition.h"
#include "topology/publisher.h"

namespace plimsoll::topology {

struct TrackerOptions {
  FsRoot host;                // "/", or a captured machine
  std::string hwloc_program;  // see Discover
  PartitionConfig partition;
  // After the last event of a burst. A message is due 50 ms after a single event.
  absl::Duration quiet = absl::Milliseconds(15);
  // A burst that does not end is looked at all the same.
  absl::Duration at_most = absl::Seconds(1);
  // For what the kernel has no event of: huge page pools, and memory that a balloon takes or gives.
  absl::Duration poll_interval = absl::Seconds(5);
};

// What a tracker tells: from its own thread, or from Start and Reload. It must not ask the tracker.
struct TrackerNews {
  Partition partition;   // in force from now on
  bool changed = false;  // the partition's CPUs or memory nodes, since the last time
};

// Thread-safe. One thread, asleep but for events and one cheap look at each poll.
class Tracker {
 public:
  // Publishes the first topology before it returns. FAILED_PRECONDITION when the partition does not
  // fit the machine. `publisher` outlives it; `on_partition` may be null.
  static absl::StatusOr<std::unique_ptr<Tracker>> Start(
      TrackerOptions options, Publisher* publisher,
      std::function<void(const TrackerNews&)> on_partition);
  ~Tracker();
  Tracker(const Tracker&) = delete;
  Tracker& operator=(const Tracker&) = delete;

  // Another description of the partition. On error the old one stays in force.
  absl::Status Reload(PartitionConfig partition);

  Partition partition() const;
  // What the machine does not tell, and why the last look changed nothing: a sentence each.
  std::vector<std::string> Troubles() const;

 private:
  Tracker(TrackerOptions options, Publisher* publisher,
          std::function<void(const TrackerNews&)> on_partition, linux::UeventSocket events,
          UniqueFd swaps, UniqueFd stop);

  absl::Status Look(bool even_if_unchanged) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Apply(const Machine& machine) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Run();
  // True when there was an event; false at `until`. Stopping ends it too.
  bool AwaitEvent(absl::Time until);
  bool Stopping() const;

  const TrackerOptions options_;
  Publisher* const publisher_;
  const std::function<void(const TrackerNews&)> on_partition_;
  linux::UeventSocket events_;
  const UniqueFd swaps_;  // proc/swaps polls as exceptional when it has changed
  const UniqueFd stop_;   // eventfd

  mutable absl::Mutex mutex_;
  PartitionConfig config_ ABSL_GUARDED_BY(mutex_);
  std::string signature_ ABSL_GUARDED_BY(mutex_);
  std::optional<Machine> machine_ ABSL_GUARDED_BY(mutex_);
  Partition partition_ ABSL_GUARDED_BY(mutex_);
  std::string misfit_ ABSL_GUARDED_BY(mutex_);  // why the last look changed nothing
  std::thread thread_;
};

}  // namespace plimsoll::topology

#endif  // PLIMSOLL_TOPOLOGY_TRACKER_H_
