// Lets several callers wait for the same pull.
#ifndef PLIMSOLL_IMAGE_SHARED_PULLS_H_
#define PLIMSOLL_IMAGE_SHARED_PULLS_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "image/image_service.h"

namespace plimsoll::image {

// A caller whose pull is under way already waits for that one. Callers may give up at any time; a
// pull without callers is ended. Thread-safe; no call may be under way at its destruction.
class SharedPulls {
 public:
  struct Caller {
    std::vector<std::string> key;  // equal if shareable: what to pull, and with which credentials
    std::string what;              // "pull docker.io/library/busybox:latest", for messages
    absl::Time deadline = absl::InfiniteFuture();       // of MonotonicNow
    absl::Duration timeout = absl::InfiniteDuration();  // the origin of `deadline`, for messages
    std::function<bool()> cancelled;  // may be null; called in the caller's thread
    ProgressFn progress;              // may be null; called in the caller's thread
  };
  // Runs in a thread of its own and ends soon after `cancelled` returns true. `progress` may be
  // called in any thread.
  using Work = std::function<absl::StatusOr<Image>(const std::function<bool()>& cancelled,
                                                   const ProgressFn& progress)>;

  // Returns the result of `work`, or of a pull under way with the same key. CANCELLED and
  // DEADLINE_EXCEEDED concern this caller alone; when the last caller returns, the work has ended.
  // RESOURCE_EXHAUSTED when no thread can be made.
  absl::StatusOr<Image> Join(const Caller& caller, Work work);

 private:
  struct Flight;
  struct Listener;

  absl::StatusOr<std::shared_ptr<Flight>> FindOrStart(const Caller& caller, Work work,
                                                      Listener* listener);
  void Run(const std::shared_ptr<Flight>& flight, const std::vector<std::string>& key,
           const Work& work);
  void Publish(Flight& flight, const Progress& progress);
  absl::Status Await(const Flight& flight, const Caller& caller, Listener* listener);
  // Waits for news or the work's end, at most `at_most`. True when the work has ended.
  bool NextNews(const Flight& flight, Listener* listener, absl::Duration at_most,
                std::vector<Progress>* news);
  void Leave(const std::shared_ptr<Flight>& flight, const Caller& caller, Listener* listener);

  absl::Mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<Flight>> flights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_SHARED_PULLS_H_
