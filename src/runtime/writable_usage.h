// What containers have written to their root file systems.
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
  std::string directory;   // that all of them are in
  absl::Time measured;     // when the walk began
  int64_t unix_nanos = 0;  // the same
  DiskUsage total;
  std::map<std::string, DiskUsage> by_container;  // by id
};

// Walks the disk, so it costs what the containers have written; the answer is kept for those who
// don't need it fresher. Thread-safe.
class WritableUsage {
 public:
  using MeasureFn = std::function<absl::StatusOr<DiskUsage>(const FsRoot& directory,
                                                            const std::stop_token& stop)>;

  // `measure`: what one layer takes; asked in the thread of whoever reads or in the own one, by one
  // at a time. It is to return soon once `stop` is asked for.
  explicit WritableUsage(FsRoot state, MeasureFn measure = MeasureTree)
      : state_(std::move(state)), measure_(std::move(measure)) {}
  ~WritableUsage() { CallOff(); }

  // Walks that are under way, and all later ones, end with CANCELLED: a large layer takes longer
  // than a daemon that ends can wait.
  void CallOff() { called_off_.request_stop(); }

  // Of a walk that began no longer than `max_age` before this call. Of several that ask at once one
  // walks, and the others take what it finds where that is fresh enough for them. Nobody waits for
  // a walk who can do with the last.
  absl::StatusOr<std::shared_ptr<const WritableLayers>> Read(absl::Duration max_age);

  // What was found last, however long ago: nobody waits but for the first walk of all. Where that
  // is older than `max_age`, another walk begins in a thread of its own, for those who ask later.
  // After a walk the disk has a rest from these of ten times as long as it took; where there has
  // been none but one that failed, its error is told meanwhile.
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
