// Calls under way to the daemon, and what becomes of them when it does not answer.
#ifndef PLIMSOLL_POD_CALL_WATCH_H_
#define PLIMSOLL_POD_CALL_WATCH_H_

#include <functional>
#include <list>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plimsoll::pod {

// A call may take long for good reasons: a grace period, a large image. One that has taken a while
// has the daemon asked whether it still answers at all; if not, somebody is told, once until it
// does again. Thread-safe; has a thread of its own while calls are under way.
class CallWatch {
 public:
  struct Options {
    absl::Duration patience = absl::Seconds(3);  // until the daemon is asked for the first time
    std::function<bool()> answers;               // asks it; returns within a few seconds
    std::function<void()> silent;                // it does not answer
    std::function<void()> back;                  // it answers again
  };
  explicit CallWatch(Options options) : options_(std::move(options)) {}
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // One call. `cancel` ends it soon, from any thread, and may be called until this goes.
  class Call {
   public:
    Call(CallWatch* watch, std::function<void()> cancel);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    friend class CallWatch;
    CallWatch* const watch_;
    const std::function<void()> cancel_;
    const absl::Time begun_;
    std::list<Call*>::iterator at_;
  };

  // Cancels all calls, and each later one at once.
  void Abandon();
  bool abandoned() const;

 private:
  void Loop();

  const Options options_;
  mutable absl::Mutex mutex_;
  absl::CondVar changed_;
  std::list<Call*> calls_ ABSL_GUARDED_BY(mutex_);  // oldest first
  bool abandoned_ ABSL_GUARDED_BY(mutex_) = false;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // started by the first call
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_CALL_WATCH_H_
