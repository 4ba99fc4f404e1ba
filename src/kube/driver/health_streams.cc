#include "kube/driver/health_streams.h"

#include "absl/time/clock.h"

namespace plimsoll::kube {
namespace {

v1alpha1::HealthStatus StatusOf(DeviceState::Health health) {
  switch (health) {
    case DeviceState::Health::kHealthy:
      return v1alpha1::HEALTHY;
    case DeviceState::Health::kUnhealthy:
      return v1alpha1::UNHEALTHY;
    case DeviceState::Health::kUnknown:
      break;
  }
  return v1alpha1::UNKNOWN;
}

class Refusal final : public grpc::ServerWriteReactor<v1alpha1::NodeWatchResourcesResponse> {
 public:
  explicit Refusal(const grpc::Status& status) { Finish(status); }

 private:
  void OnDone() override { delete this; }
};

}  // namespace

// Owned by gRPC until OnDone.
class HealthStreams::Stream final
    : public grpc::ServerWriteReactor<v1alpha1::NodeWatchResourcesResponse> {
 public:
  explicit Stream(HealthStreams& streams)
      : streams_(streams), handle_(streams.board_.Listen([this] { Send(); })) {
    Send();
  }

  // Sends the states of now, or of the moment when the client has read the last ones.
  void Send() {
    const absl::MutexLock lock(&mutex_);
    has_news_ = true;
    Advance();
  }
  void End(const grpc::Status& status) {
    const absl::MutexLock lock(&mutex_);
    if (is_ending_) return;
    is_ending_ = true;
    status_ = status;
    Advance();
  }

 private:
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_writing_ || is_finished_) return;
    if (is_ending_) {
      is_finished_ = true;
      Finish(status_);
    } else if (has_news_) {
      has_news_ = false;
      is_writing_ = true;
      message_ = streams_.Message();
      StartWrite(&message_);
    }
  }

  void OnWriteDone(bool ok) override {
    const absl::MutexLock lock(&mutex_);
    is_writing_ = false;
    if (!ok && !is_ending_) {
      is_ending_ = true;
      status_ = grpc::Status::CANCELLED;
    }
    Advance();
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override {
    streams_.board_.Unlisten(handle_);
    streams_.Remove(this);
    delete this;
  }

  HealthStreams& streams_;
  absl::Mutex mutex_;
  v1alpha1::NodeWatchResourcesResponse message_ ABSL_GUARDED_BY(mutex_);
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  bool has_news_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
  const int handle_;  // last: the listener uses the members above
};

grpc::ServerWriteReactor<v1alpha1::NodeWatchResourcesResponse>* HealthStreams::NodeWatchResources(
    grpc::CallbackServerContext*, const v1alpha1::NodeWatchResourcesRequest*) {
  {
    const absl::MutexLock lock(&mutex_);
    if (is_ending_) return new Refusal({grpc::StatusCode::UNAVAILABLE, "the driver ends"});
    if (streams_.size() >= kMostStreams) {
      return new Refusal({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many clients watch health"});
    }
  }
  auto* const stream = new Stream(*this);
  const absl::MutexLock lock(&mutex_);
  streams_.insert(stream);
  if (is_ending_) stream->End({grpc::StatusCode::UNAVAILABLE, "the driver ends"});
  return stream;
}

void HealthStreams::End(absl::Duration patience) {
  const absl::MutexLock lock(&mutex_);
  is_ending_ = true;
  for (Stream* each : streams_) each->End({grpc::StatusCode::UNAVAILABLE, "the driver ends"});
  const auto all_ended = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return streams_.empty(); };
  mutex_.AwaitWithTimeout(absl::Condition(&all_ended), patience);
}

void HealthStreams::Remove(Stream* stream) {
  const absl::MutexLock lock(&mutex_);
  streams_.erase(stream);
}

v1alpha1::NodeWatchResourcesResponse HealthStreams::Message() const {
  v1alpha1::NodeWatchResourcesResponse message;
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  for (const DeviceState& each : board_.States()) {
    v1alpha1::DeviceHealth* const device = message.add_devices();
    device->mutable_device()->set_pool_name(node_);
    device->mutable_device()->set_device_name(each.name);
    device->set_health(StatusOf(each.health));
    device->set_last_updated_time(now);
    device->set_health_check_timeout_seconds(kHealthTimeoutSeconds);
    device->set_message(each.message);
  }
  return message;
}

}  // namespace plimsoll::kube
