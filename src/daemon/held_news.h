// News that may come before its listener.
#ifndef PLIMSOLL_DAEMON_HELD_NEWS_H_
#define PLIMSOLL_DAEMON_HELD_NEWS_H_

#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::daemon {

// A component that reads a state and follows its changes must subscribe first, or it misses changes
// in between; but until it has read the state it can't take news. News until then is kept, as one.
// Thread-safe.
class HeldNews {
 public:
  // Calls the listener in this thread, or keeps the news until there is one.
  void Tell();
  // Sets the listener, and calls it at once in this thread if news was kept. Call once.
  void Listen(std::function<void()> listener);

 private:
  absl::Mutex mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
  bool kept_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_HELD_NEWS_H_
