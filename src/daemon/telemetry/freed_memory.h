// Returns freed memory to the kernel.
#ifndef PLIMSOLL_DAEMON_TELEMETRY_FREED_MEMORY_H_
#define PLIMSOLL_DAEMON_TELEMETRY_FREED_MEMORY_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::daemon {

// The allocator keeps free memory that lies between live blocks: megabytes, after many pods at
// once. A thread of its own returns it (malloc_trim(3), about a millisecond) at the first pause in
// the notes, or every ten seconds without a pause. Thread-safe.
class FreedMemory {
 public:
  FreedMemory();
  ~FreedMemory();
  FreedMemory(const FreedMemory&) = delete;
  FreedMemory& operator=(const FreedMemory&) = delete;

  // Memory was freed. Quick: may be called under any lock.
  void Note();

 private:
  void Loop();
  bool AwaitNote();
  void AwaitPause();

  absl::Mutex mutex_;
  bool noted_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_TELEMETRY_FREED_MEMORY_H_
