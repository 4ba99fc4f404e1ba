// Calls to the daemon under way, and a look at the daemon when they take long.
#ifndef PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_CALL_WATCH_H_
#define PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_CALL_WATCH_H_

#include <functional>
#include <list>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace plimsoll::pod {

// A call may take long for good reasons: a grace period, a large image. After `patience` the daemon
// is asked whether it answers at all. If it doesn't, `silent` is called, once until it answers
// again. Thread-safe; has a thread of its own from the first call on.
class CallWatch {
 public:
  struct Options {
    absl::Duration patience = absl::Seconds(3);  // before the daemon is asked for the first time
    std::function<bool()> answers;               // asks the daemon; returns within a few seconds
    std::function<void()> silent;                // the daemon gives no answer
    std::function<void()> back;                  // the daemon answers again
  };
  explicit CallWatch(Options options) : options_(std::move(options)) {}
  ~CallWatch();
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // One call, for as long as this object lives. `cancel` ends the call soon. It may come from any
  // thread.
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

  // Cancels all calls, and each later one at its start.
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

#endif  // PLIMSOLL_POD_RUNNER_RUNTIME_CLIENT_CALL_WATCH_H_
