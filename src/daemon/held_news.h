// News that may come before whoever it is for.
#ifndef PLIMSOLL_DAEMON_HELD_NEWS_H_
#define PLIMSOLL_DAEMON_HELD_NEWS_H_

#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace plimsoll::daemon {

// Who looks at something and wants to hear when it changes must listen first, or misses what comes
// in between; but before the look is over there is nothing that could take the news. What comes
// until then is kept, as one. Thread-safe.
class HeldNews {
 public:
  // There is news: calls the listener, in this thread, or keeps it for when there is one.
  void Tell();
  // From now on there is one, which is called at once, in this thread, if there was news. Once.
  void Listen(std::function<void()> listener);

 private:
  absl::Mutex mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(mutex_);
  bool kept_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plimsoll::daemon

#endif  // PLIMSOLL_DAEMON_HELD_NEWS_H_
