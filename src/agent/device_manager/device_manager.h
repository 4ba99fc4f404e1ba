// kubelet's device manager: plugins that register at its socket (device plugin API v1beta1), and
// the devices of the configuration.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_MANAGER_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_MANAGER_H_

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/counters/counters.h"
#include "agent/device_manager/configured_devices.h"
#include "agent/device_manager/device_stock.h"
#include "agent/device_manager/plugin.h"
#include "base/fs_root.h"
#include "base/steady_time.h"
#include "pod_runner/cri_requests/context.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

// Thread-safe. Pods run on when a plugin goes; its resource keeps its devices, none of them
// healthy, for as long as kubelet keeps them (5 minutes), and then leaves the node's capacity.
class DeviceManager {
 public:
  // Called from a thread of the manager's own, one at a time, without a lock. Each may be null.
  struct Hooks {
    // Devices came, went, or changed their health.
    std::function<void()> on_change;
    // A warning for the log and an event of the node: a registration that was refused, a plugin
    // that broke the protocol or went.
    std::function<void(const std::string& reason, const std::string& message)> on_event;
    // For the log alone: a plugin has registered. Few for a plugin that registers in a loop.
    std::function<void(const std::string& line)> on_line;
  };
  struct Options {
    // Holds kubelet.sock and the plugins' sockets, beneath `root`; empty: no plugins are served.
    std::string directory;
    // Where plugins register by PluginRegistration instead; empty: nowhere.
    std::string registry_directory;
    NodeDevices configured;
    // Resources that pods on record hold devices of: they stay in the capacity, with no device,
    // until their plugin has registered again, or for 5 minutes.
    std::set<std::string> expected;
    FsRoot root;  // "/"
    Hooks hooks;
    Counters* counters = nullptr;  // outlives the manager; may be null
    PluginLimits limits;
    std::function<SteadyTime()> now = SteadyNow;
  };
  // Serves kubelet.sock. Sockets of plugins in the directory are removed, as kubelet does at its
  // start: that, and the new kubelet.sock, tell plugins to register again. A kubelet.sock that is
  // removed later is made again. Errors name the path; FAILED_PRECONDITION: a kubelet serves there.
  static absl::StatusOr<std::unique_ptr<DeviceManager>> Start(Options options);
  // Waits for calls of the hooks; none comes after that.
  virtual ~DeviceManager() = default;
  // Ends calls that wait for plugins, here and from now on: UNAVAILABLE.
  virtual void Stop() {}

  virtual DeviceStock Stock() const = 0;
  // For the node: all devices, and the healthy ones.
  virtual resources::ResourceList Capacity() const = 0;
  virtual resources::ResourceList Allocatable() const = 0;
  // GetPreferredAllocation; bounded by limits.prefer. Without a wish: empty.
  virtual absl::StatusOr<std::vector<std::string>> Prefer(
      const std::string& resource, const std::vector<std::string>& available,
      const std::vector<std::string>& must_include, int64_t count) const = 0;
  // Allocate: what the container gets for these devices. UNAVAILABLE: the plugin is away, and it
  // can be tried again; other errors are the plugin's refusal, in the words that kubelet shows, or
  // an answer that no container can get. Bounded by limits.allocate. For configured devices the
  // manager answers itself. What belongs to several resources of a container: AddGiven.
  virtual absl::StatusOr<pod::GivenDevices> Allocate(const std::string& resource,
                                                     const std::vector<std::string>& ids) const = 0;
  // PreStartContainer, where the plugin asks for it: before each start. Errors as Allocate; bounded
  // by limits.pre_start.
  virtual absl::Status PreStart(const std::string& resource,
                                const std::vector<std::string>& ids) const = 0;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_MANAGER_H_
