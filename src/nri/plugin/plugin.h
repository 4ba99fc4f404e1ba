// A library for plugins of the Node Resource Interface in C++. A plugin derives from Plugin,
// overrides the calls that it wants, and runs:
//
//   class Logger : public nri::Plugin {
//    public:
//     absl::StatusOr<api::CreateContainerResponse> CreateContainer(
//         const api::CreateContainerRequest& request) override;
//   };
//   Logger logger;
//   return nri::RunPlugin(logger, {.name = "logger", .index = "10"}).ok() ? 0 : 1;
//
// Started by a runtime, it uses the socket that NRI_PLUGIN_SOCKET names; else it connects to the
// runtime's socket.
#ifndef PLIMSOLL_NRI_PLUGIN_PLUGIN_H_
#define PLIMSOLL_NRI_PLUGIN_PLUGIN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "nri/v1alpha1/api.pb.h"

namespace plimsoll::nri {

namespace api = ::nri::pkg::api::v1alpha1;

// Calls of the runtime. They come one at a time, in a thread of the library's; an error is
// answered with its code. A call that is not overridden is answered with UNIMPLEMENTED, which fails
// the runtime's CreateContainer and UpdateContainer and turns other events into StateChange. So
// list the overridden ones in Events, which decides which ones come at all.
class Plugin {
 public:
  virtual ~Plugin() = default;
  // The events to subscribe to; empty: all.
  virtual std::vector<api::Event> Events() const { return {}; }
  virtual absl::Status Configure(const api::ConfigureRequest&) { return absl::OkStatus(); }
  // All pods and containers, chunks put together. Returns updates of containers.
  virtual absl::StatusOr<std::vector<api::ContainerUpdate>> Synchronize(
      const std::vector<api::PodSandbox>&, const std::vector<api::Container>&) {
    return std::vector<api::ContainerUpdate>();
  }
  virtual void Shutdown() {}

#define PLIMSOLL_NRI_CALL(name)                                                 \
  virtual absl::StatusOr<api::name##Response> name(const api::name##Request&) { \
    return absl::UnimplementedError(#name);                                     \
  }
  PLIMSOLL_NRI_CALL(RunPodSandbox)
  PLIMSOLL_NRI_CALL(UpdatePodSandbox)
  PLIMSOLL_NRI_CALL(PostUpdatePodSandbox)
  PLIMSOLL_NRI_CALL(StopPodSandbox)
  PLIMSOLL_NRI_CALL(RemovePodSandbox)
  PLIMSOLL_NRI_CALL(CreateContainer)
  PLIMSOLL_NRI_CALL(PostCreateContainer)
  PLIMSOLL_NRI_CALL(StartContainer)
  PLIMSOLL_NRI_CALL(PostStartContainer)
  PLIMSOLL_NRI_CALL(UpdateContainer)
  PLIMSOLL_NRI_CALL(PostUpdateContainer)
  PLIMSOLL_NRI_CALL(StopContainer)
  PLIMSOLL_NRI_CALL(RemoveContainer)
  PLIMSOLL_NRI_CALL(ValidateContainerAdjustment)
#undef PLIMSOLL_NRI_CALL
  // An event without a call of its own.
  virtual absl::Status StateChange(const api::StateChangeEvent&) {
    return absl::UnimplementedError("StateChange");
  }
};

// NRI_PLUGIN_NAME and NRI_PLUGIN_IDX, which a runtime sets for plugins that it starts, go before
// name and index.
struct PluginOptions {
  std::string name;                                 // letters, digits and "-_.+"
  std::string index;                                // two digits
  std::string socket = "/var/run/nri/nri.sock";     // where no runtime has started the plugin
  UniqueFd connected;                               // a connected socket, instead of all that
  absl::Duration call_timeout = absl::Seconds(10);  // of its calls to the runtime
};

// A plugin's connection to its runtime. Thread-safe.
class Session {
 public:
  // Connects and registers. The plugin is called from now on, in the library's threads; it must
  // outlive the session. INVALID_ARGUMENT: name, index, or NRI_PLUGIN_SOCKET, whose socket serves
  // one session of a process. Other errors: no runtime is there, or it refuses the plugin.
  static absl::StatusOr<std::unique_ptr<Session>> Start(Plugin& plugin, PluginOptions options);
  virtual ~Session() = default;
  // Blocks until the connection has ended, and returns the reason: the plugin's own error, if its
  // Configure or Synchronize failed. OK: Close was called or the runtime said Shutdown.
  virtual absl::Status Wait() = 0;
  virtual void Close() = 0;

  // Updates that no hook asked for; may be called within a hook. Returns those that failed.
  virtual absl::StatusOr<std::vector<api::ContainerUpdate>> UpdateContainers(
      const std::vector<api::ContainerUpdate>& updates,
      const std::vector<api::ContainerEviction>& evictions) = 0;
  // Plimsoll's own: see UpdateNodeResourcesRequest.
  virtual absl::Status UpdateNodeResources(const api::UpdateNodeResourcesRequest& request) = 0;
};

// Runs a plugin until its connection ends or SIGTERM or SIGINT comes: that, and a Shutdown of the
// runtime's, are OK. Called before the program starts threads, which would get the signals.
absl::Status RunPlugin(Plugin& plugin, PluginOptions options);

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_PLUGIN_PLUGIN_H_
