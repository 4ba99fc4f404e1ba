// The thread that owns waitpid. Used by subprocess.cc only.
#ifndef PLIMSOLL_BASE_CHILD_REAPER_H_
#define PLIMSOLL_BASE_CHILD_REAPER_H_

#include <sys/types.h>

#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/subprocess.h"

namespace plimsoll {

struct Child::Shared {
  absl::Notification exited;
  ExitStatus status;  // written before `exited` is notified
};

class ChildReaper {
 public:
  // The process's one reaper; its thread runs from the first call to the end of the process.
  static ChildReaper& Get();

  // Runs `start`, which must start a process and return its pid or -errno, such that the process
  // cannot be reaped before it is registered. Returns what `start` returned.
  pid_t StartRegistered(const std::function<pid_t()>& start,
                        const std::shared_ptr<Child::Shared>& shared);

 private:
  ChildReaper();
  void Loop();

  absl::Mutex mutex_;
  absl::CondVar started_;
  bool may_have_children_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<pid_t, std::shared_ptr<Child::Shared>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_CHILD_REAPER_H_
