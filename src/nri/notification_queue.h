// Events of pods and containers that plugins are still to hear, in order.
#ifndef PLIMSOLL_NRI_NOTIFICATION_QUEUE_H_
#define PLIMSOLL_NRI_NOTIFICATION_QUEUE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "nri/v1alpha1/api.pb.h"
#include "runtime/objects/event_log.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// The changing part of a container, as it was at one moment: short, since thousands may wait.
struct ContainerMoment {
  api::ContainerState state = api::CONTAINER_UNKNOWN;
  uint32_t pid = 0;
  int64_t created_unix_nanos = 0;
  int64_t started_unix_nanos = 0;
  int64_t finished_unix_nanos = 0;
  int exit_code = 0;
  std::string reason;
  std::string message;

  static ContainerMoment Of(const runtime::ContainerRecord& record);
  void Set(api::Container* container) const;
};

struct Notification {
  enum class Kind {
    kSandboxStarted,
    kSandboxRemoved,
    kContainerCreated,
    kContainerStarted,
    kContainerStopped,
    kContainerRemoved,
    kMade,  // a container is visible, or was undone: updates that were kept for it are due
  };
  Kind kind = Kind::kMade;
  std::string sandbox_id;
  std::string container_id;
  ContainerMoment moment;

  // nullopt: plugins aren't told of this event.
  static std::optional<Notification> Of(const runtime::Event& event,
                                        const runtime::EventSubject& subject);
};

// Bounded. From `full` notifications on, IsFull says that plugins are too slow; at twice that it
// drops all of them. Thread-safe.
class NotificationQueue {
 public:
  explicit NotificationQueue(size_t full) : full_(full) {}

  // True if the queue was empty, or has become full.
  bool Push(Notification notification);
  std::optional<Notification> Pop();
  bool empty() const;
  size_t size() const;
  bool IsFull() const;
  // True once after notifications were dropped: no plugin's picture is right any more.
  bool TakeLost();
  void Clear();

 private:
  const size_t full_;
  mutable absl::Mutex mutex_;
  std::deque<Notification> queue_ ABSL_GUARDED_BY(mutex_);
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_NOTIFICATION_QUEUE_H_
