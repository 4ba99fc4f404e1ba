// Log of the node's events: a bounded list that any number of readers follow. The oldest event is
// dropped first.
#ifndef PLIMSOLL_RUNTIME_OBJECTS_EVENT_LOG_H_
#define PLIMSOLL_RUNTIME_OBJECTS_EVENT_LOG_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/clock.h"
#include "runtime/store/records.h"

namespace plimsoll::runtime {

enum class EventType {
  kSandboxStarted,
  kSandboxStopped,
  kSandboxRemoved,
  kContainerCreated,
  kContainerStarted,
  kContainerStopped,
  kContainerRemoved,
  kContainerOom,
  kContainerUpdated,
  kImageImported,
  kImagePulled,
  kImageRemoved,
  kRecovered,  // a difference that the daemon's start found and repaired
  kWarning,    // a result differs from the request; the message says how and why
};
const char* EventTypeName(EventType type);  // "ContainerStarted"

struct Event {
  uint64_t sequence = 0;  // 1, 2, ... without gaps in one run of the daemon
  int64_t unix_nanos = 0;
  EventType type = EventType::kWarning;
  std::string sandbox_id;
  std::string container_id;
  std::string message;
};

// The record that an event is about, as it was at that moment: a listener that needs it later
// copies it. Set is one pointer for an event in the life of a sandbox or container, none for
// others.
struct EventSubject {
  const SandboxRecord* sandbox = nullptr;
  const ContainerRecord* container = nullptr;
};

// Thread-safe.
class EventLog {
 public:
  using Listener = std::function<void(const Event&, const EventSubject&)>;

  explicit EventLog(size_t capacity = 4096, Clock* clock = &Clock::Real());

  // Adds an event, and calls every listener in the caller's thread. Listeners must be quick, and
  // must call neither this log nor the engine, whose locks the caller may hold.
  void Add(EventType type, std::string sandbox_id, std::string container_id, std::string message,
           const EventSubject& subject = {});
  void Add(EventType type, const SandboxRecord& sandbox, std::string message) {
    Add(type, sandbox.id, "", std::move(message), {.sandbox = &sandbox});
  }
  void Add(EventType type, const ContainerRecord& container, std::string message) {
    Add(type, container.sandbox_id, container.id, std::move(message), {.container = &container});
  }
  // Adds a warning with the error's message; adds nothing for OK.
  void Warn(const std::string& sandbox_id, const std::string& container_id,
            const absl::Status& status);
  // Kept events with a greater sequence, oldest first.
  std::vector<Event> Since(uint64_t sequence) const;
  // Adds a listener of all events from now on. Returns a handle for Unlisten; when Unlisten
  // returns, the listener is not running and is never called again.
  int Listen(Listener listener);
  void Unlisten(int handle);

 private:
  const size_t capacity_;
  Clock* const clock_;
  mutable absl::Mutex mutex_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::btree_map<int, Listener> listeners_ ABSL_GUARDED_BY(mutex_);
  int last_handle_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_OBJECTS_EVENT_LOG_H_
