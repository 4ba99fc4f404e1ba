// What containers have written to their root file systems.
#ifndef PLIMSOLL_RUNTIME_WRITABLE_USAGE_H_
#define PLIMSOLL_RUNTIME_WRITABLE_USAGE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "base/disk_usage.h"
#include "base/fs_root.h"

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
  using MeasureFn = std::function<absl::StatusOr<DiskUsage>(const FsRoot& directory)>;

  // `measure`: what one layer takes; asked in the thread of whoever reads, by one at a time.
  explicit WritableUsage(FsRoot state, MeasureFn measure = MeasureTree)
      : state_(std::move(state)), measure_(std::move(measure)) {}

  // Of a walk that began no longer than `max_age` before this call. Of several that ask at once one
  // walks, and the others take what it finds where that is fresh enough for them. Nobody waits for
  // a walk who can do with the last.
  absl::StatusOr<std::shared_ptr<const WritableLayers>> Read(absl::Duration max_age);

 private:
  absl::StatusOr<std::shared_ptr<const WritableLayers>> Walk() const;

  const FsRoot state_;
  const MeasureFn measure_;
  absl::Mutex mutex_;  // never held over a walk
  bool is_walking_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const WritableLayers> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_WRITABLE_USAGE_H_
