// What containers have written to their root file systems.
#ifndef PLIMSOLL_RUNTIME_WRITABLE_USAGE_H_
#define PLIMSOLL_RUNTIME_WRITABLE_USAGE_H_

#include <cstdint>
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
  explicit WritableUsage(FsRoot state) : state_(std::move(state)) {}

  // Not older than `max_age`; of several that ask at once one walks.
  absl::StatusOr<std::shared_ptr<const WritableLayers>> Read(absl::Duration max_age);

 private:
  const FsRoot state_;
  absl::Mutex mutex_;  // held over the walk
  std::shared_ptr<const WritableLayers> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_WRITABLE_USAGE_H_
