// Follows GetContainerEvents and keeps the events until they are taken.
#ifndef PLIMSOLL_TESTS_SOAK_EVENT_WATCH_H_
#define PLIMSOLL_TESTS_SOAK_EVENT_WATCH_H_

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "cri/runtime/v1/api.grpc.pb.h"
#include "soak/event_check.h"

namespace plimsoll::testing {

// Thread-safe.
class EventWatch {
 public:
  // Open when it returns: later events are told.
  explicit EventWatch(cri::RuntimeService::Stub& runtime);
  ~EventWatch() { Stop(); }
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;

  // Waits for the event of the pod's removal. False: it hasn't come, or the stream has ended.
  bool AwaitRemoval(const std::string& pod, absl::Duration within);
  // Returns the pod's events and forgets them.
  ToldOfPod Take(const std::string& pod);
  // The events not taken, by pod.
  std::map<std::string, ToldOfPod> Rest() const;
  size_t count() const;
  // Ends the stream.
  void Stop();
  // The error that ended it before Stop; empty if there was none.
  std::string failure() const;

 private:
  void Follow();
  void Keep(const cri::ContainerEventResponse& event);
  bool IsRemoved(const std::string& pod) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<cri::ContainerEventResponse>> reader_;
  mutable absl::Mutex mutex_;
  std::map<std::string, ToldOfPod> told_ ABSL_GUARDED_BY(mutex_);
  uint64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::string failure_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace plimsoll::testing

#endif  // PLIMSOLL_TESTS_SOAK_EVENT_WATCH_H_
