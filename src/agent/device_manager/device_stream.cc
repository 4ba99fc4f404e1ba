#include "agent/device_manager/device_stream.h"

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <chrono>
#include <utility>

#include "agent/device_manager/call_set.h"
#include "kubelet/deviceplugin/v1beta1/api.grpc.pb.h"

namespace plimsoll::agent {
namespace {

constexpr std::chrono::milliseconds kPause(100);

}  // namespace

// Is among those running until gRPC has no more use for it.
class DeviceStreams::Reader final
    : public DeviceStream,
      private grpc::ClientReadReactor<::v1beta1::ListAndWatchResponse>,
      public std::enable_shared_from_this<Reader> {
 public:
  Reader(DeviceStreams& streams, std::shared_ptr<grpc::Channel> channel, Hooks hooks)
      : streams_(streams),
        stub_(::v1beta1::DevicePlugin::NewStub(std::move(channel))),
        hooks_(std::move(hooks)) {}

  void Begin() {
    stub_->async()->ListAndWatch(&context_, &request_, this);
    AddHold();  // for reads that follow a pause
    StartRead(&read_);
    StartCall();
  }
  void Cancel() override {
    cancelled_ = true;
    context_.TryCancel();
  }
  // Once it is over: what the hooks hold may hold this.
  void DropHooks() { hooks_ = {}; }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) {
      // The plugin goes on after a message that is no list, and must not pass for one that serves.
      context_.TryCancel();  // nothing, if the call is over
      RemoveHold();
      return;
    }
    hooks_.on_list(DevicesFrom(read_));
    read_.Clear();
    pause_.Set(std::chrono::system_clock::now() + kPause, [this](bool) { StartRead(&read_); });
  }
  void OnDone(const grpc::Status& status) override {
    const bool broken = status.error_code() == grpc::StatusCode::CANCELLED && !cancelled_;
    hooks_.on_end(broken ? absl::InternalError("a list of devices can't be read")
                         : FromGrpc(status));
    const absl::MutexLock lock(&streams_.mutex_);
    auto self = streams_.running_.extract(shared_from_this());
    streams_.over_.push_back(std::move(self.value()));
  }

  DeviceStreams& streams_;
  const std::unique_ptr<::v1beta1::DevicePlugin::Stub> stub_;
  Hooks hooks_;
  grpc::ClientContext context_;
  const ::v1beta1::Empty request_;
  ::v1beta1::ListAndWatchResponse read_;
  grpc::Alarm pause_;
  std::atomic<bool> cancelled_ = false;  // by this side
};

std::shared_ptr<DeviceStream> DeviceStreams::Start(std::shared_ptr<grpc::Channel> channel,
                                                   Hooks hooks) {
  auto reader = std::make_shared<Reader>(*this, std::move(channel), std::move(hooks));
  {
    const absl::MutexLock lock(&mutex_);
    running_.insert(reader);
    if (ended_) reader->Cancel();
  }
  reader->Begin();
  return reader;
}

void DeviceStreams::EndAll() {
  std::set<std::shared_ptr<Reader>> streams;
  {
    const absl::MutexLock lock(&mutex_);
    ended_ = true;
    streams = running_;
  }
  for (const auto& stream : streams) stream->Cancel();
  {
    const absl::MutexLock lock(&mutex_);
    const auto none = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) { return running_.empty(); };
    mutex_.Await(absl::Condition(&none));
  }
  streams.clear();
  Reap();
}

void DeviceStreams::Reap() {
  std::vector<std::shared_ptr<Reader>> over;
  {
    const absl::MutexLock lock(&mutex_);
    over.swap(over_);
  }
  for (const std::shared_ptr<Reader>& each : over) each->DropHooks();
}

}  // namespace plimsoll::agent
