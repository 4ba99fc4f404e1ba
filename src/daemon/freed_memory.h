// Gives freed memory back to the kernel.
#ifndef PLIMSOLL_DAEMON_FREED_MEMORY_H_
#define PLIMSOLL_DAEMON_FREED_MEMORY_H_

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::daemon {

// The allocator keeps what is free between things that live on: after many pods at once, megabytes.
// A thread of its own has it returned (malloc_trim(3), about a millisecond) in the pause after what
// was noted, or every ten seconds where there is no pause. Thread-safe.
class FreedMemory {
 public:
  FreedMemory();
  ~FreedMemory();
  FreedMemory(const FreedMemory&) = delete;
  FreedMemory& operator=(const FreedMemory&) = delete;

  // Something has ended that held memory. Quick: may be called under any lock.
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

#endif  // PLIMSOLL_DAEMON_FREED_MEMORY_H_
