#include "nri/notification_queue.h"

#include <utility>

namespace plimsoll::nri {
namespace {

using Kind = Notification::Kind;

api::ContainerState StateOf(runtime::ContainerState state) {
  switch (state) {
    case runtime::ContainerState::kCreated:
      return api::CONTAINER_CREATED;
    case runtime::ContainerState::kRunning:
      return api::CONTAINER_RUNNING;
    case runtime::ContainerState::kExited:
    case runtime::ContainerState::kRemoving:
      return api::CONTAINER_STOPPED;
    default:
      return api::CONTAINER_UNKNOWN;
  }
}

std::optional<Kind> KindOf(runtime::EventType type) {
  switch (type) {
    case runtime::EventType::kSandboxStarted:
      return Kind::kSandboxStarted;
    case runtime::EventType::kSandboxRemoved:
      return Kind::kSandboxRemoved;
    case runtime::EventType::kContainerCreated:
      return Kind::kContainerCreated;
    case runtime::EventType::kContainerStarted:
      return Kind::kContainerStarted;
    case runtime::EventType::kContainerStopped:
      return Kind::kContainerStopped;
    case runtime::EventType::kContainerRemoved:
      return Kind::kContainerRemoved;
    default:
      return std::nullopt;
  }
}

// The state that the event is about: a record may be ahead of it.
api::ContainerState StateAfter(Kind kind, api::ContainerState of_record) {
  switch (kind) {
    case Kind::kContainerCreated:
      return api::CONTAINER_CREATED;
    case Kind::kContainerStarted:
      return api::CONTAINER_RUNNING;
    case Kind::kContainerStopped:
    case Kind::kContainerRemoved:
      return api::CONTAINER_STOPPED;
    default:
      return of_record;
  }
}

}  // namespace

ContainerMoment ContainerMoment::Of(const runtime::ContainerRecord& record) {
  ContainerMoment moment;
  moment.state = StateOf(record.state);
  moment.pid = static_cast<uint32_t>(record.init.pid);
  moment.created_unix_nanos = record.created_unix_nanos;
  moment.started_unix_nanos = record.started_unix_nanos;
  moment.finished_unix_nanos = record.finished_unix_nanos;
  moment.exit_code = record.exit_code;
  moment.reason = record.reason;
  moment.message = record.message;
  return moment;
}

void ContainerMoment::Set(api::Container* container) const {
  container->set_state(state);
  container->set_pid(pid);
  container->set_created_at(created_unix_nanos);
  container->set_started_at(started_unix_nanos);
  container->set_finished_at(finished_unix_nanos);
  container->set_exit_code(exit_code);
  container->set_status_reason(reason);
  container->set_status_message(message);
}

std::optional<Notification> Notification::Of(const runtime::Event& event,
                                             const runtime::EventSubject& subject) {
  const std::optional<Kind> kind = KindOf(event.type);
  if (!kind.has_value()) return std::nullopt;
  Notification notification{*kind, event.sandbox_id, event.container_id, {}};
  if (subject.container != nullptr) {
    notification.moment = ContainerMoment::Of(*subject.container);
    notification.moment.state = StateAfter(*kind, notification.moment.state);
  }
  return notification;
}

bool NotificationQueue::Push(Notification notification) {
  absl::MutexLock lock(&mutex_);
  if (queue_.size() >= 2 * full_) {
    queue_.clear();
    lost_ = true;
  }
  if (lost_) return true;
  queue_.push_back(std::move(notification));
  return queue_.size() == 1 || queue_.size() >= full_;
}

std::optional<Notification> NotificationQueue::Pop() {
  absl::MutexLock lock(&mutex_);
  if (queue_.empty()) return std::nullopt;
  Notification first = std::move(queue_.front());
  queue_.pop_front();
  return first;
}

bool NotificationQueue::empty() const {
  absl::MutexLock lock(&mutex_);
  return queue_.empty() && !lost_;
}

size_t NotificationQueue::size() const {
  absl::MutexLock lock(&mutex_);
  return queue_.size();
}

bool NotificationQueue::IsFull() const {
  absl::MutexLock lock(&mutex_);
  return queue_.size() >= full_;
}

bool NotificationQueue::TakeLost() {
  absl::MutexLock lock(&mutex_);
  return std::exchange(lost_, false);
}

void NotificationQueue::Clear() {
  absl::MutexLock lock(&mutex_);
  queue_.clear();
  lost_ = false;
}

}  // namespace plimsoll::nri
