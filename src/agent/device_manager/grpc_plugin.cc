#include "agent/device_manager/grpc_plugin.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "agent/device_manager/plugin_answers.h"
#include "agent/device_manager/plugin_channel.h"
#include "base/status.h"

namespace plimsoll::agent {

GrpcPlugin::GrpcPlugin(std::shared_ptr<grpc::Channel> channel, const PluginLimits& limits,
                       CallSet& calls)
    : channel_(std::move(channel)),
      stub_(::v1beta1::DevicePlugin::NewStub(channel_)),
      limits_(limits),
      calls_(calls) {}

absl::StatusOr<std::shared_ptr<GrpcPlugin>> GrpcPlugin::Connect(const FsRoot& root,
                                                                const std::string& path,
                                                                const PluginLimits& limits,
                                                                CallSet& calls) {
  PLIMSOLL_ASSIGN_OR_RETURN(auto channel, ConnectToPlugin(root, path));
  const std::shared_ptr<GrpcPlugin> plugin(new GrpcPlugin(std::move(channel), limits, calls));
  const absl::Status asked = calls.Run(limits.options, [&](grpc::ClientContext& context) {
    return plugin->stub_->GetDevicePluginOptions(&context, {}, &plugin->options_);
  });
  PLIMSOLL_RETURN_IF_ERROR(Annotate(asked, "failed to get device plugin options"));
  return plugin;
}

void GrpcPlugin::Watch(DeviceStreams& streams, DeviceStreams::Hooks hooks) {
  hooks.on_end = [self = shared_from_this(),
                  on_end = std::move(hooks.on_end)](const absl::Status& status) {
    self->has_ended_ = true;
    on_end(status);
  };
  std::shared_ptr<DeviceStream> stream = streams.Start(channel_, std::move(hooks));
  const absl::MutexLock lock(&mutex_);
  if (closed_) stream->Cancel();
  stream_ = std::move(stream);
}

void GrpcPlugin::Close() {
  std::shared_ptr<DeviceStream> stream;
  {
    const absl::MutexLock lock(&mutex_);
    closed_ = true;
    stream = stream_;
  }
  if (stream != nullptr) stream->Cancel();
}

absl::StatusOr<std::vector<std::string>> GrpcPlugin::Prefer(
    const std::vector<std::string>& available, const std::vector<std::string>& must_include,
    int64_t count) {
  ::v1beta1::PreferredAllocationRequest request;
  auto* const container = request.add_container_requests();
  container->mutable_available_deviceids()->Assign(available.begin(), available.end());
  container->mutable_must_include_deviceids()->Assign(must_include.begin(), must_include.end());
  container->set_allocation_size(
      static_cast<int32_t>(std::min<int64_t>(count, std::numeric_limits<int32_t>::max())));
  ::v1beta1::PreferredAllocationResponse response;
  PLIMSOLL_RETURN_IF_ERROR(calls_.Run(limits_.prefer, [&](grpc::ClientContext& context) {
    return stub_->GetPreferredAllocation(&context, request, &response);
  }));
  return PreferredFrom(response);
}

absl::StatusOr<pod::GivenDevices> GrpcPlugin::Allocate(const std::vector<std::string>& ids) {
  ::v1beta1::AllocateRequest request;
  request.add_container_requests()->mutable_devices_ids()->Assign(ids.begin(), ids.end());
  ::v1beta1::AllocateResponse response;
  PLIMSOLL_RETURN_IF_ERROR(calls_.Run(limits_.allocate, [&](grpc::ClientContext& context) {
    return stub_->Allocate(&context, request, &response);
  }));
  return GivenFrom(response);
}

absl::Status GrpcPlugin::PreStart(const std::vector<std::string>& ids) {
  ::v1beta1::PreStartContainerRequest request;
  request.mutable_devices_ids()->Assign(ids.begin(), ids.end());
  ::v1beta1::PreStartContainerResponse response;
  return calls_.Run(limits_.pre_start, [&](grpc::ClientContext& context) {
    return stub_->PreStartContainer(&context, request, &response);
  });
}

}  // namespace plimsoll::agent
