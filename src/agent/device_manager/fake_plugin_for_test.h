// For tests: a device plugin in this process, over a real socket.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_FAKE_PLUGIN_FOR_TEST_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_FAKE_PLUGIN_FOR_TEST_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "kubelet/deviceplugin/v1beta1/api.grpc.pb.h"
#include "kubelet/pluginregistration/v1/api.grpc.pb.h"

namespace plimsoll::agent {

inline ::v1beta1::ListAndWatchResponse DevicesNamed(const std::vector<std::string>& ids,
                                                    const std::string& health = "Healthy") {
  ::v1beta1::ListAndWatchResponse list;
  for (const std::string& id : ids) {
    ::v1beta1::Device* device = list.add_devices();
    device->set_id(id);
    device->set_health(health);
  }
  return list;
}

// Answers as its members say, which are set before Tell and before the socket is used: handlers
// read them after the lock that Tell takes, by which the thread sanitizer sees the order.
class FakePlugin final : public ::v1beta1::DevicePlugin::Service,
                         public ::pluginregistration::Registration::Service {
 public:
  // Listens at once.
  explicit FakePlugin(const std::string& socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat("unix:", socket), grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<::v1beta1::DevicePlugin::Service*>(this));
    builder.RegisterService(static_cast<::pluginregistration::Registration::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~FakePlugin() override { End(); }

  void Tell(::v1beta1::ListAndWatchResponse list) {
    const absl::MutexLock lock(&mutex_);
    list_ = std::move(list);
    ++version_;
  }
  // The plugin's process goes: all connections break.
  void End() {
    {
      const absl::MutexLock lock(&mutex_);
      is_over_ = true;
    }
    server_->Shutdown(std::chrono::system_clock::now());
  }
  // From now on, of all calls but GetDevicePluginOptions and ListAndWatch.
  void Fail(grpc::Status status) {
    const absl::MutexLock lock(&mutex_);
    failure_ = std::move(status);
  }
  // From now on, of GetDevicePluginOptions.
  void FailOptions(grpc::Status status) {
    const absl::MutexLock lock(&mutex_);
    options_failure_ = std::move(status);
  }
  // The next list's answer is the end of the stream.
  void EndStream(grpc::Status status) {
    const absl::MutexLock lock(&mutex_);
    end_ = std::move(status);
    ends_ = true;
  }
  // Calls wait from now on, until the plugin goes or the caller gives up.
  void Hang() {
    const absl::MutexLock lock(&mutex_);
    hangs_ = true;
  }
  // Requests as text, in their order.
  std::vector<std::string> asked() const {
    const absl::MutexLock lock(&mutex_);
    return asked_;
  }
  size_t lists_sent() const {
    const absl::MutexLock lock(&mutex_);
    return lists_sent_;
  }

  ::v1beta1::DevicePluginOptions options;
  ::v1beta1::AllocateResponse allocated;
  ::v1beta1::PreferredAllocationResponse preferred;
  grpc::Status verdict_failure;  // of NotifyRegistrationStatus
  ::pluginregistration::PluginInfo info;
  bool floods = false;  // sends its list again and again

 private:
  grpc::Status Wait(grpc::ServerContext* context) {
    while (true) {
      const absl::MutexLock lock(&mutex_);
      if (!hangs_ || is_over_) return grpc::Status::OK;
      if (context->IsCancelled()) return grpc::Status::CANCELLED;
      mutex_.AwaitWithTimeout(absl::Condition(&is_over_), absl::Milliseconds(20));
    }
  }
  grpc::Status Answer(grpc::ServerContext* context, const std::string& asked) {
    {
      const absl::MutexLock lock(&mutex_);
      asked_.push_back(asked);
    }
    if (grpc::Status status = Wait(context); !status.ok()) return status;
    const absl::MutexLock lock(&mutex_);
    return failure_;
  }
  grpc::Status GetDevicePluginOptions(grpc::ServerContext* context, const ::v1beta1::Empty*,
                                      ::v1beta1::DevicePluginOptions* response) override {
    if (grpc::Status status = Wait(context); !status.ok()) return status;
    *response = options;
    const absl::MutexLock lock(&mutex_);
    return options_failure_;
  }
  grpc::Status ListAndWatch(grpc::ServerContext* context, const ::v1beta1::Empty*,
                            grpc::ServerWriter<::v1beta1::ListAndWatchResponse>* writer) override {
    uint64_t sent = 0;
    while (!context->IsCancelled()) {
      ::v1beta1::ListAndWatchResponse list;
      {
        const absl::MutexLock lock(&mutex_);
        if (is_over_) return grpc::Status::CANCELLED;
        if (ends_) return end_;
        const auto is_news = [&]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
          return is_over_ || ends_ || version_ > sent;
        };
        if (!(floods && version_ > 0) &&
            !mutex_.AwaitWithTimeout(absl::Condition(&is_news), absl::Milliseconds(20))) {
          continue;
        }
        if (is_over_ || ends_ || version_ == 0) continue;
        sent = version_;
        list = list_;
      }
      if (!writer->Write(list)) return grpc::Status::CANCELLED;
      const absl::MutexLock lock(&mutex_);
      ++lists_sent_;
    }
    return grpc::Status::CANCELLED;
  }
  grpc::Status GetPreferredAllocation(grpc::ServerContext* context,
                                      const ::v1beta1::PreferredAllocationRequest* request,
                                      ::v1beta1::PreferredAllocationResponse* response) override {
    grpc::Status answer = Answer(context, absl::StrCat("prefer ", request->ShortDebugString()));
    *response = preferred;
    return answer;
  }
  grpc::Status Allocate(grpc::ServerContext* context, const ::v1beta1::AllocateRequest* request,
                        ::v1beta1::AllocateResponse* response) override {
    grpc::Status answer = Answer(context, absl::StrCat("allocate ", request->ShortDebugString()));
    *response = allocated;
    return answer;
  }
  grpc::Status PreStartContainer(grpc::ServerContext* context,
                                 const ::v1beta1::PreStartContainerRequest* request,
                                 ::v1beta1::PreStartContainerResponse*) override {
    return Answer(context, absl::StrCat("start ", request->ShortDebugString()));
  }
  grpc::Status GetInfo(grpc::ServerContext* context, const ::pluginregistration::InfoRequest*,
                       ::pluginregistration::PluginInfo* response) override {
    grpc::Status answer = Answer(context, "info");
    *response = info;
    return answer;
  }
  grpc::Status NotifyRegistrationStatus(
      grpc::ServerContext* context, const ::pluginregistration::RegistrationStatus* request,
      ::pluginregistration::RegistrationStatusResponse*) override {
    const grpc::Status answer =
        Answer(context, absl::StrCat("verdict ", request->ShortDebugString()));
    return answer.ok() ? verdict_failure : answer;
  }

  mutable absl::Mutex mutex_;
  ::v1beta1::ListAndWatchResponse list_ ABSL_GUARDED_BY(mutex_);
  uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t lists_sent_ ABSL_GUARDED_BY(mutex_) = 0;
  bool is_over_ ABSL_GUARDED_BY(mutex_) = false;
  bool hangs_ ABSL_GUARDED_BY(mutex_) = false;
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::Status end_ ABSL_GUARDED_BY(mutex_);
  grpc::Status failure_ ABSL_GUARDED_BY(mutex_);
  grpc::Status options_failure_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> asked_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_FAKE_PLUGIN_FOR_TEST_H_
