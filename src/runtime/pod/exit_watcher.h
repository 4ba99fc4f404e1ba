// One thread that waits for the end of any number of processes.
#ifndef PLIMSOLL_RUNTIME_POD_EXIT_WATCHER_H_
#define PLIMSOLL_RUNTIME_POD_EXIT_WATCHER_H_

#include <cstdint>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/unique_fd.h"

namespace plimsoll::runtime {

// Thread-safe. Works through pidfds, so also for processes that are not this one's children.
class ExitWatcher {
 public:
  ExitWatcher() = default;
  ~ExitWatcher();  // callbacks that have not run by then never will
  ExitWatcher(const ExitWatcher&) = delete;
  ExitWatcher& operator=(const ExitWatcher&) = delete;

  // Starts the thread. Must be called once, before Watch.
  absl::Status Start();
  // Calls `on_exit` once, in the watcher's thread, when the process has exited (at once if it has).
  absl::Status Watch(UniqueFd pidfd, std::function<void()> on_exit);

 private:
  struct Watched {
    UniqueFd pidfd;
    std::function<void()> on_exit;
  };

  void Loop();

  UniqueFd epoll_;
  UniqueFd stop_;  // eventfd
  std::thread thread_;
  absl::Mutex mutex_;
  uint64_t last_key_ ABSL_GUARDED_BY(mutex_) = 0;  // 0 is the stop event's
  absl::flat_hash_map<uint64_t, Watched> watched_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_POD_EXIT_WATCHER_H_
