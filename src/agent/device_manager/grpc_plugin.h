// A plugin behind its socket.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_GRPC_PLUGIN_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_GRPC_PLUGIN_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "agent/device_manager/call_set.h"
#include "agent/device_manager/device_stream.h"
#include "agent/device_manager/plugin.h"
#include "base/fs_root.h"
#include "kubelet/deviceplugin/v1beta1/api.grpc.pb.h"

namespace plimsoll::agent {

class GrpcPlugin final : public Plugin, public std::enable_shared_from_this<GrpcPlugin> {
 public:
  // Connects to the socket below `root` and asks for the plugin's options. `calls` outlives this.
  // Errors of ConnectToPlugin and GetDevicePluginOptions.
  static absl::StatusOr<std::shared_ptr<GrpcPlugin>> Connect(const FsRoot& root,
                                                             const std::string& path,
                                                             const PluginLimits& limits,
                                                             CallSet& calls);

  // Called once. The stream keeps this until it ends.
  void Watch(DeviceStreams& streams, DeviceStreams::Hooks hooks);

  bool has_preference() const override { return options_.get_preferred_allocation_available(); }
  bool wants_pre_start() const override { return options_.pre_start_required(); }
  absl::StatusOr<std::vector<std::string>> Prefer(const std::vector<std::string>& available,
                                                  const std::vector<std::string>& must_include,
                                                  int64_t count) override;
  absl::StatusOr<pod::GivenDevices> Allocate(const std::vector<std::string>& ids) override;
  absl::Status PreStart(const std::vector<std::string>& ids) override;
  void Close() override;
  bool has_ended() const override { return has_ended_; }

 private:
  GrpcPlugin(std::shared_ptr<grpc::Channel> channel, const PluginLimits& limits, CallSet& calls);

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<::v1beta1::DevicePlugin::Stub> stub_;
  const PluginLimits limits_;
  CallSet& calls_;
  ::v1beta1::DevicePluginOptions options_;  // constant once connected
  std::atomic<bool> has_ended_ = false;
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<DeviceStream> stream_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_GRPC_PLUGIN_H_
