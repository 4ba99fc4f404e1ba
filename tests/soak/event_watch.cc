#include "soak/event_watch.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace plimsoll::testing {

EventWatch::EventWatch(cri::RuntimeService::Stub& runtime)
    : reader_(runtime.GetContainerEvents(&context_, {})) {
  reader_->WaitForInitialMetadata();
  thread_ = std::thread([this] { Follow(); });
}

void EventWatch::Follow() {
  cri::ContainerEventResponse event;
  while (reader_->Read(&event)) Keep(event);
  const grpc::Status status = reader_->Finish();
  absl::MutexLock lock(&mutex_);
  ended_ = true;
  if (!stopping_) {
    failure_ = absl::StrCat("the stream of events has ended with code ", status.error_code(), ": ",
                            status.error_message());
  }
}

void EventWatch::Keep(const cri::ContainerEventResponse& event) {
  Told told;
  told.type = event.container_event_type();
  told.unix_nanos = event.created_at();
  for (const cri::ContainerStatus& status : event.containers_statuses()) {
    if (status.id() == event.container_id() && status.state() == cri::CONTAINER_EXITED) {
      told.exit_code = status.exit_code();
    }
  }
  absl::MutexLock lock(&mutex_);
  told.number = ++count_;
  told_[event.pod_sandbox_status().id()][event.container_id()].push_back(told);
}

bool EventWatch::IsRemoved(const std::string& pod) const {
  const auto of_pod = told_.find(pod);
  if (of_pod == told_.end()) return false;
  const auto own = of_pod->second.find(pod);
  return own != of_pod->second.end() && own->second.back().type == cri::CONTAINER_DELETED_EVENT;
}

bool EventWatch::AwaitRemoval(const std::string& pod, absl::Duration within) {
  absl::MutexLock lock(&mutex_);
  const auto told = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return ended_ || IsRemoved(pod); };
  mutex_.AwaitWithTimeout(absl::Condition(&told), within);
  return IsRemoved(pod);
}

ToldOfPod EventWatch::Take(const std::string& pod) {
  absl::MutexLock lock(&mutex_);
  const auto of_pod = told_.extract(pod);
  return of_pod.empty() ? ToldOfPod() : std::move(of_pod.mapped());
}

std::map<std::string, ToldOfPod> EventWatch::Rest() const {
  absl::MutexLock lock(&mutex_);
  return told_;
}

size_t EventWatch::count() const {
  absl::MutexLock lock(&mutex_);
  return count_;
}

void EventWatch::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  context_.TryCancel();
  if (thread_.joinable()) thread_.join();
}

std::string EventWatch::failure() const {
  absl::MutexLock lock(&mutex_);
  return failure_;
}

}  // namespace plimsoll::testing
