// Pulls that several callers wait for together.
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

// Whoever asks for what is under way already waits for that. A caller may give up at any time; what
// nobody waits for any more is ended. Thread-safe; no call may be under way when it is destroyed.
class SharedPulls {
 public:
  struct Caller {
    std::vector<std::string> key;  // equal for what may be shared: what, and with which credentials
    std::string what;              // "pull docker.io/library/busybox:latest", for messages
    absl::Time deadline = absl::InfiniteFuture();       // of MonotonicNow
    absl::Duration timeout = absl::InfiniteDuration();  // that `deadline` came from, for messages
    std::function<bool()> cancelled;                    // may be null; asked in the caller's thread
    ProgressFn progress;  // may be null; called in the caller's thread
  };
  // Runs in a thread of its own and ends soon after `cancelled` is true. `progress` may be called
  // in any thread.
  using Work = std::function<absl::StatusOr<Image>(const std::function<bool()>& cancelled,
                                                   const ProgressFn& progress)>;

  // What `work` returns, or that of one with the same key that is under way. CANCELLED and
  // DEADLINE_EXCEEDED for this caller alone; for the last of them the work has ended when this
  // returns. RESOURCE_EXHAUSTED when there can be no further thread.
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
  // True when the work has ended; waits for that or for news, at most so long.
  bool NextNews(const Flight& flight, Listener* listener, absl::Duration at_most,
                std::vector<Progress>* news);
  void Leave(const std::shared_ptr<Flight>& flight, const Caller& caller, Listener* listener);

  absl::Mutex mutex_;
  std::map<std::vector<std::string>, std::shared_ptr<Flight>> flights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::image

#endif  // PLIMSOLL_IMAGE_SHARED_PULLS_H_
