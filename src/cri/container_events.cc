#include "cri/container_events.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace plimsoll::cri {
namespace {

namespace v1 = ::runtime::v1;
using runtime::ContainerState;
using runtime::EventType;

// Larger than any burst of a whole node's pods.
constexpr size_t kMaxWaiting = 8192;

std::vector<v1::ContainerEventType> TypesOf(EventType type) {
  switch (type) {
    case EventType::kSandboxStarted:
      return {v1::CONTAINER_CREATED_EVENT, v1::CONTAINER_STARTED_EVENT};
    case EventType::kContainerCreated:
      return {v1::CONTAINER_CREATED_EVENT};
    case EventType::kContainerStarted:
      return {v1::CONTAINER_STARTED_EVENT};
    case EventType::kSandboxStopped:
    case EventType::kContainerStopped:
      return {v1::CONTAINER_STOPPED_EVENT};
    case EventType::kSandboxRemoved:
    case EventType::kContainerRemoved:
      return {v1::CONTAINER_DELETED_EVENT};
    default:
      return {};
  }
}

bool IsRemoval(EventType type) {
  return type == EventType::kSandboxRemoved || type == EventType::kContainerRemoved;
}

// Rewinds the record to moment `then`. False: the container didn't exist yet.
bool Rewind(int64_t then, runtime::ContainerRecord* record) {
  if (record->state == ContainerState::kCreating || record->created_unix_nanos > then) return false;
  const bool was_started = record->started_unix_nanos != 0 && record->started_unix_nanos <= then;
  if (record->finished_unix_nanos > then) {
    record->state = was_started ? ContainerState::kRunning : ContainerState::kCreated;
    record->finished_unix_nanos = 0;
    record->exit_code = 0;
    record->oom_killed = false;
    record->reason.clear();
    record->message.clear();
  }
  if (!was_started && record->finished_unix_nanos == 0) {
    if (record->state == ContainerState::kRunning) record->state = ContainerState::kCreated;
    record->started_unix_nanos = 0;
  }
  return true;
}

}  // namespace

ContainerEvents::ContainerEvents(runtime::Engine* engine, runtime::EventLog* events, PodRpcs* rpcs,
                                 size_t max_pending)
    : engine_(engine), events_(events), rpcs_(rpcs), max_pending_(max_pending) {
  listener_ =
      events_->Listen([this](const runtime::Event& event, const runtime::EventSubject& subject) {
        Hear(event, subject);
      });
}

ContainerEvents::~ContainerEvents() {
  events_->Unlisten(listener_);
  absl::MutexLock lock(&mutex_);
  const auto all_ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return streams_.empty(); };
  mutex_.Await(absl::Condition(&all_ended));
}

ContainerEvents::Reactor* ContainerEvents::Open(std::function<void(const absl::Status&)> on_end) {
  std::shared_ptr<Stream> stream = Stream::Create(max_pending_);
  Stream* const key = stream.get();
  stream->set_on_end([this, key, on_end = std::move(on_end)] {
    absl::Status ended;
    {
      absl::MutexLock lock(&mutex_);
      ended = streams_[key].ended;
    }
    if (on_end) on_end(ended);
    absl::MutexLock lock(&mutex_);
    streams_.erase(key);
  });
  // Once this has returned the client may see the headers, so later events must reach it. It comes
  // before any message could be written, since a write would send the headers too.
  stream->StartSendInitialMetadata();
  absl::MutexLock lock(&mutex_);
  streams_[key] = {.stream = std::move(stream), .since = last_, .ended = absl::OkStatus()};
  return key;
}

void ContainerEvents::Hear(const runtime::Event& event, const runtime::EventSubject& subject) {
  absl::MutexLock lock(&mutex_);
  last_ = event.sequence;
  if (streams_.empty() || TypesOf(event.type).empty()) return;
  if (waiting_.size() >= kMaxWaiting) {
    lost_ = true;
    return;
  }
  Happened happened{event, nullptr, nullptr};
  if (subject.sandbox != nullptr) {
    happened.sandbox = std::make_shared<const runtime::SandboxRecord>(*subject.sandbox);
  }
  if (subject.container != nullptr) {
    happened.container = std::make_shared<const runtime::ContainerRecord>(*subject.container);
  }
  waiting_.push_back(std::move(happened));
  // If no thread can be had, the next event tries again.
  if (!telling_) telling_ = pool_.TrySchedule([this] { Tell(); });
}

void ContainerEvents::Tell() {
  while (true) {
    Happened next;
    bool lost = false;
    {
      absl::MutexLock lock(&mutex_);
      lost = std::exchange(lost_, false);
      if (waiting_.empty() && !lost) {
        telling_ = false;
        return;
      }
      if (lost) {
        waiting_.clear();
      } else {
        next = waiting_.front();
      }
    }
    if (lost) {
      // The lost events may include removals whose messages the caches still keep.
      rpcs_->ForgetRemoved();
      EndAll(absl::ResourceExhaustedError(
          "events came faster than they could be sent, and some are lost: list pods and "
          "containers, and ask for events again"));
      continue;
    }
    TellOne(next);
    absl::MutexLock lock(&mutex_);
    waiting_.pop_front();
  }
}

void ContainerEvents::TellOne(const Happened& happened) {
  v1::ContainerEventResponse message;
  const bool is_known = Describe(happened, &message);
  for (const v1::ContainerEventType type : TypesOf(happened.event.type)) {
    if (!is_known) break;
    message.set_container_event_type(type);
    Send(message, happened.event.sequence);
  }
  // Filling the message may have put the removed object back into the cache.
  if (IsRemoval(happened.event.type)) {
    rpcs_->Forget(happened.event.sandbox_id, happened.event.container_id);
  }
}

bool ContainerEvents::Describe(const Happened& happened, v1::ContainerEventResponse* message) {
  const std::optional<runtime::SandboxRecord> sandbox = SandboxThen(happened);
  // kubelet can't tell the pod of an event without its sandbox.
  if (!sandbox.has_value()) return false;
  const runtime::Event& event = happened.event;
  message->set_container_id(event.container_id.empty() ? event.sandbox_id : event.container_id);
  message->set_created_at(event.unix_nanos);
  // Unreadable parts are left out: the event itself matters more.
  rpcs_->FillStatus(*sandbox, message->mutable_pod_sandbox_status()).IgnoreError();
  for (const runtime::ContainerRecord& container : ContainersThen(happened)) {
    rpcs_->FillStatus(container, message->add_containers_statuses()).IgnoreError();
  }
  return true;
}

std::optional<runtime::SandboxRecord> ContainerEvents::SandboxThen(const Happened& happened) const {
  if (happened.sandbox != nullptr) return *happened.sandbox;
  const absl::StatusOr<runtime::SandboxRecord> now = engine_->GetSandbox(happened.event.sandbox_id);
  std::optional<runtime::SandboxRecord> then;
  if (now.ok()) then = *now;
  // Asked after the engine: a sandbox that the engine has removed meanwhile is in these events.
  const std::vector<Happened> later = Later(happened.event.sandbox_id);
  for (const Happened& each : later) {
    if (!then.has_value() && each.sandbox != nullptr) then = *each.sandbox;
  }
  const auto is_stop = [](const Happened& each) {
    return each.event.type == EventType::kSandboxStopped;
  };
  if (then.has_value() && absl::c_any_of(later, is_stop)) {
    then->state = runtime::SandboxState::kReady;
  }
  return then;
}

std::vector<runtime::ContainerRecord> ContainerEvents::ContainersThen(
    const Happened& happened) const {
  const runtime::Event& event = happened.event;
  std::map<std::string, runtime::ContainerRecord> there;  // by id
  for (runtime::ContainerRecord& record : engine_->ListContainersOf(event.sandbox_id)) {
    there[record.id] = std::move(record);
  }
  // Asked after the engine: a removed container is in one or the other.
  for (const Happened& later : Later(event.sandbox_id)) {
    const bool is_removal = later.event.type == EventType::kContainerRemoved;
    if (is_removal && later.container != nullptr) {
      there[later.event.container_id] = *later.container;
    }
  }
  std::vector<runtime::ContainerRecord> then;
  for (auto& [id, record] : there) {
    if (id == event.container_id) continue;
    if (Rewind(event.unix_nanos, &record)) then.push_back(std::move(record));
  }
  if (happened.container != nullptr && !IsRemoval(event.type)) then.push_back(*happened.container);
  // Ordered as the engine's lists: kubelet takes the first of a name for the latest attempt.
  std::stable_sort(then.begin(), then.end(), [](const auto& a, const auto& b) {
    return std::tie(a.created_unix_nanos, a.spec.attempt) >
           std::tie(b.created_unix_nanos, b.spec.attempt);
  });
  return then;
}

std::vector<ContainerEvents::Happened> ContainerEvents::Later(const std::string& sandbox_id) const {
  std::vector<Happened> later;
  absl::MutexLock lock(&mutex_);
  for (size_t i = 1; i < waiting_.size(); ++i) {
    if (waiting_[i].event.sandbox_id == sandbox_id) later.push_back(waiting_[i]);
  }
  return later;
}

void ContainerEvents::Send(const v1::ContainerEventResponse& message, uint64_t sequence) {
  const grpc::Slice slice(message.SerializeAsString());
  const grpc::ByteBuffer bytes(&slice, 1);
  std::vector<OneStream> streams;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [key, stream] : streams_) streams.push_back(stream);
  }
  for (const OneStream& one : streams) {
    if (one.since >= sequence || one.stream->Write(bytes)) continue;
    End(*one.stream,
        absl::ResourceExhaustedError(absl::StrCat(
            "more than ", max_pending_,
            " events were left unread, and later ones are lost: list pods and containers, and "
            "ask for events again")));
  }
}

void ContainerEvents::End(Stream& stream, const absl::Status& status) {
  {
    absl::MutexLock lock(&mutex_);
    const auto it = streams_.find(&stream);
    if (it != streams_.end()) it->second.ended.Update(status);
  }
  stream.End(status);
}

void ContainerEvents::EndAll(const absl::Status& status) {
  std::vector<OneStream> streams;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [key, stream] : streams_) streams.push_back(stream);
  }
  for (const OneStream& one : streams) End(*one.stream, status);
}

}  // namespace plimsoll::cri
