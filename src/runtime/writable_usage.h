// Disk usage of containers' writable layers.
#ifndef PLIMSOLL_RUNTIME_WRITABLE_USAGE_H_
#define PLIMSOLL_RUNTIME_WRITABLE_USAGE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/disk_usage.h"
#include "base/fs_root.h"
#include "base/worker_pool.h"

namespace plimsoll::runtime {

struct WritableLayers {
  std::string directory;   // names their file system: as the images' directory, if that has both
  absl::Time measured;     // when the walk began
  int64_t unix_nanos = 0;  // the same
  DiskUsage total;
  std::map<std::string, DiskUsage> by_container;  // by id
};

// Measures the layers by walking the disk, at a cost that grows with their files; keeps the result
// for callers who don't need it fresher: a list would be as slow as the disk, and kubelet's
// housekeeping with it. Project quotas would be cheaper, but need a file system mounted with them.
// Thread-safe.
class WritableUsage {
 public:
  using MeasureFn = std::function<absl::StatusOr<DiskUsage>(const FsRoot& directory,
                                                            const std::stop_token& stop)>;

  // `measure` returns one layer's usage. It runs in a caller's thread or in this object's own, one
  // call at a time, and must return soon after a request of `stop`.
  explicit WritableUsage(FsRoot state, MeasureFn measure = MeasureTree)
      : state_(std::move(state)), measure_(std::move(measure)) {}
  ~WritableUsage() { CallOff(); }

  // Ends the walk under way and all later ones with CANCELLED: a large layer takes longer than an
  // ending daemon can wait.
  void CallOff() { called_off_.request_stop(); }

  // The result of a walk that began at most `max_age` before this call. Returns the last one at
  // once if it is fresh enough. Of several callers at once one walks, and the others take its
  // result if that is fresh enough for them.
  absl::StatusOr<std::shared_ptr<const WritableLayers>> Read(absl::Duration max_age);

  // The last walk's result, however old: only the first walk of all is waited for. If the result is
  // older than `max_age`, another walk begins in a thread of its own, for later callers. After each
  // walk these walks pause for ten times as long as it took. If the first walk failed, its error is
  // returned during the pause.
  absl::StatusOr<std::shared_ptr<const WritableLayers>> ReadLast(absl::Duration max_age);

 private:
  absl::StatusOr<std::shared_ptr<const WritableLayers>> Walk() const;
  void WalkAside(absl::Duration max_age);
  bool Rests() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return std::chrono::steady_clock::now() < rests_until_;
  }

  const FsRoot state_;
  const MeasureFn measure_;
  absl::Mutex mutex_;  // never held over a walk
  bool is_walking_ ABSL_GUARDED_BY(mutex_) = false;
  bool walks_aside_ ABSL_GUARDED_BY(mutex_) = false;  // or will soon
  std::chrono::steady_clock::time_point rests_until_ ABSL_GUARDED_BY(mutex_);
  absl::Status failed_ ABSL_GUARDED_BY(mutex_);  // of the last walk
  std::shared_ptr<const WritableLayers> last_ ABSL_GUARDED_BY(mutex_);
  std::stop_source called_off_;
  // Last, so that its thread ends before what it uses.
  WorkerPool aside_{/*max_threads=*/1, /*max_queued=*/1};
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_WRITABLE_USAGE_H_
