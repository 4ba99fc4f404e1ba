// The thread that owns waitpid. Used by subprocess.cc only.
#ifndef PLIMSOLL_BASE_PROGRAMS_CHILD_REAPER_H_
#define PLIMSOLL_BASE_PROGRAMS_CHILD_REAPER_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "base/programs/subprocess.h"

namespace plimsoll {

struct Child::Shared {
  absl::Notification exited;
  ExitStatus status;  // written before `exited` is notified
};

class ChildReaper {
 public:
  // The process's one reaper; its thread runs from the first call to the end of the process.
  static ChildReaper& Get();

  // Runs `start`, which must start a process and return its pid or -errno. The process cannot be
  // reaped before it is registered. Returns start's result. Starts run side by side: one lasts
  // until the new process has executed its program, which may be on a file system that hangs.
  pid_t StartRegistered(const std::function<pid_t()>& start,
                        const std::shared_ptr<Child::Shared>& shared);

 private:
  ChildReaper();
  void Loop();
  // Waits until the ended process `pid` is registered, or no start under way can be its own.
  // Collects others meanwhile.
  void AwaitRegistration(pid_t pid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does nothing if `pid` has not ended, or somebody else has waited for it.
  void Collect(pid_t pid) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  absl::CondVar started_;
  uint64_t starts_ ABSL_GUARDED_BY(mutex_) = 0;          // starts so far
  std::set<uint64_t> starting_ ABSL_GUARDED_BY(mutex_);  // numbers of the starts under way
  bool may_have_children_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<pid_t, std::shared_ptr<Child::Shared>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll

#endif  // PLIMSOLL_BASE_PROGRAMS_CHILD_REAPER_H_
