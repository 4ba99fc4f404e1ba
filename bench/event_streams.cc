#include "bench/event_streams.h"

#include <map>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "bench/cri_client.h"

namespace plimsoll::bench {

struct EventStreams::Shared {
  absl::Mutex mutex;
  int open ABSL_GUARDED_BY(mutex) = 0;
  int ended ABSL_GUARDED_BY(mutex) = 0;
  std::map<std::string, int> told ABSL_GUARDED_BY(mutex);  // streams, by the pod that started
  absl::Status failure ABSL_GUARDED_BY(mutex);
};

// gRPC's until OnDone.
class EventStreams::Stream : public grpc::ClientReadReactor<cri::ContainerEventResponse> {
 public:
  Stream(cri::RuntimeService::Stub& stub, Shared* shared) : shared_(shared) {
    stub.async()->GetContainerEvents(&context_, &request_, this);
    StartRead(&event_);
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  void OnReadInitialMetadataDone(bool ok) override {
    absl::MutexLock lock(&shared_->mutex);
    if (ok) ++shared_->open;
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (event_.container_event_type() == cri::CONTAINER_STARTED_EVENT &&
        event_.container_id() == event_.pod_sandbox_status().id()) {
      absl::MutexLock lock(&shared_->mutex);
      ++shared_->told[event_.container_id()];
    }
    StartRead(&event_);
  }
  void OnDone(const grpc::Status& status) override {
    absl::MutexLock lock(&shared_->mutex);
    ++shared_->ended;
    shared_->failure.Update(ToStatus(status, "GetContainerEvents"));
  }

  Shared* const shared_;
  grpc::ClientContext context_;
  cri::GetEventsRequest request_;
  cri::ContainerEventResponse event_;
};

EventStreams::EventStreams() : shared_(std::make_unique<Shared>()) {}

absl::StatusOr<std::unique_ptr<EventStreams>> EventStreams::Open(cri::RuntimeService::Stub& stub,
                                                                 int count, absl::Duration within) {
  std::unique_ptr<EventStreams> streams(new EventStreams());
  Shared& shared = *streams->shared_;
  for (int i = 0; i < count; ++i) {
    streams->streams_.push_back(std::make_unique<Stream>(stub, &shared));
  }
  absl::MutexLock lock(&shared.mutex);
  const auto all_open = [&]() ABSL_SHARED_LOCKS_REQUIRED(shared.mutex) {
    return shared.open == count || shared.ended > 0;
  };
  const bool in_time = shared.mutex.AwaitWithTimeout(absl::Condition(&all_open), within);
  if (!shared.failure.ok()) return shared.failure;
  if (!in_time || shared.ended > 0) {
    return absl::DeadlineExceededError(
        absl::StrCat("only ", shared.open, " of ", count, " streams of events are open"));
  }
  return streams;
}

EventStreams::~EventStreams() {
  for (const auto& stream : streams_) stream->Cancel();
  absl::MutexLock lock(&shared_->mutex);
  const auto all_ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(shared_->mutex) {
    return shared_->ended == static_cast<int>(streams_.size());
  };
  shared_->mutex.Await(absl::Condition(&all_ended));
}

absl::Status EventStreams::AwaitStart(const std::string& pod, absl::Duration within) {
  const int count = static_cast<int>(streams_.size());
  absl::MutexLock lock(&shared_->mutex);
  const auto all_told = [&]() ABSL_SHARED_LOCKS_REQUIRED(shared_->mutex) {
    return shared_->told[pod] == count || shared_->ended > 0;
  };
  const bool in_time = shared_->mutex.AwaitWithTimeout(absl::Condition(&all_told), within);
  if (in_time && shared_->ended == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("only ", shared_->told[pod], " of ", count,
                                          " streams were told that pod ", pod,
                                          " started: ", shared_->failure.message()));
}

}  // namespace plimsoll::bench
