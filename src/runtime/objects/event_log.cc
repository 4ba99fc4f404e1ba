#include "runtime/objects/event_log.h"

#include <utility>

namespace plimsoll::runtime {

const char* EventTypeName(EventType type) {
  switch (type) {
    case EventType::kSandboxStarted:
      return "SandboxStarted";
    case EventType::kSandboxStopped:
      return "SandboxStopped";
    case EventType::kSandboxRemoved:
      return "SandboxRemoved";
    case EventType::kContainerCreated:
      return "ContainerCreated";
    case EventType::kContainerStarted:
      return "ContainerStarted";
    case EventType::kContainerStopped:
      return "ContainerStopped";
    case EventType::kContainerRemoved:
      return "ContainerRemoved";
    case EventType::kContainerOom:
      return "ContainerOom";
    case EventType::kContainerUpdated:
      return "ContainerUpdated";
    case EventType::kImageImported:
      return "ImageImported";
    case EventType::kImagePulled:
      return "ImagePulled";
    case EventType::kImageRemoved:
      return "ImageRemoved";
    case EventType::kRecovered:
      return "Recovered";
    case EventType::kWarning:
      return "Warning";
  }
  return "Unknown";
}

EventLog::EventLog(size_t capacity, Clock* clock) : capacity_(capacity), clock_(clock) {}

void EventLog::Add(EventType type, std::string sandbox_id, std::string container_id,
                   std::string message, const EventSubject& subject) {
  absl::MutexLock lock(&mutex_);
  events_.push_back({++last_sequence_, clock_->NowUnixNanos(), type, std::move(sandbox_id),
                     std::move(container_id), std::move(message)});
  for (const auto& [handle, listener] : listeners_) listener(events_.back(), subject);
  while (events_.size() > capacity_) events_.pop_front();
}

void EventLog::Warn(const std::string& sandbox_id, const std::string& container_id,
                    const absl::Status& status) {
  if (status.ok()) return;
  Add(EventType::kWarning, sandbox_id, container_id, std::string(status.message()));
}

std::vector<Event> EventLog::Since(uint64_t sequence) const {
  absl::MutexLock lock(&mutex_);
  std::vector<Event> later;
  for (const Event& event : events_) {
    if (event.sequence > sequence) later.push_back(event);
  }
  return later;
}

int EventLog::Listen(Listener listener) {
  absl::MutexLock lock(&mutex_);
  listeners_[++last_handle_] = std::move(listener);
  return last_handle_;
}

void EventLog::Unlisten(int handle) {
  absl::MutexLock lock(&mutex_);
  listeners_.erase(handle);
}

}  // namespace plimsoll::runtime
