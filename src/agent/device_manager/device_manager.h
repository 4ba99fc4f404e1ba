// kubelet's device manager: plugins that register at its socket (device plugin API v1beta1), and
// the devices of the configuration.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_MANAGER_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_MANAGER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/device_manager/configured_devices.h"
#include "agent/device_manager/device_stock.h"
#include "base/fs_root.h"
#include "pod/context.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

// Thread-safe. Pods run on when a plugin goes; its resource keeps its devices, none of them
// healthy, for as long as kubelet keeps them (5 minutes), and then leaves the node's capacity.
class DeviceManager {
 public:
  struct Hooks {
    // Devices came, went, or changed their health. Called without a lock.
    std::function<void()> on_change;
    // A warning for the log and an event of the node: a registration that was refused, a plugin
    // that broke the protocol or went. Called without a lock.
    std::function<void(const std::string& reason, const std::string& message)> on_event;
  };
  struct Options {
    // Of kubelet.sock and the plugins' own sockets, beneath `root`; empty: no plugins are served.
    std::string directory;
    // Where plugins register by PluginRegistration instead; empty: nowhere.
    std::string registry_directory;
    NodeDevices configured;
    FsRoot root;  // "/"
    Hooks hooks;
  };
  // Serves kubelet.sock. Sockets of plugins in the directory are removed, as kubelet does at its
  // start: that tells plugins to register again. Errors name the path.
  static absl::StatusOr<std::unique_ptr<DeviceManager>> Start(Options options);
  virtual ~DeviceManager() = default;

  virtual DeviceStock Stock() const = 0;
  // For the node: all devices, and the healthy ones.
  virtual resources::ResourceList Capacity() const = 0;
  virtual resources::ResourceList Allocatable() const = 0;
  // GetPreferredAllocation; bounded in time.
  virtual absl::StatusOr<std::vector<std::string>> Prefer(
      const std::string& resource, const std::vector<std::string>& available,
      const std::vector<std::string>& must_include, int64_t count) const = 0;
  // Allocate: what the container gets for these devices. UNAVAILABLE: the plugin is away, and it
  // can be tried again; other errors are the plugin's refusal. Bounded in time.
  virtual absl::StatusOr<pod::GivenDevices> Allocate(const std::string& resource,
                                                     const std::vector<std::string>& ids) const = 0;
  // PreStartContainer, where the plugin asks for it: before each start. Errors as Allocate.
  virtual absl::Status PreStart(const std::string& resource,
                                const std::vector<std::string>& ids) const = 0;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_MANAGER_H_
