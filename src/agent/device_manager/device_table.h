// The node's extended resources: their devices, and the plugins that serve them.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_TABLE_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_TABLE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/device_manager/device_stock.h"
#include "agent/device_manager/plugin.h"
#include "base/steady_time.h"
#include "resources/requirements.h"

namespace plimsoll::agent {

// Thread-safe; never waits. A resource is there from its plugin's first list until kStay after the
// plugin's end. In between a plugin that comes back finds its devices as they were, unhealthy.
class DeviceTable {
 public:
  static constexpr size_t kMaxPlugins = 64;
  // kubelet's endpointStopGracePeriod.
  static constexpr absl::Duration kStay = absl::Minutes(5);

  // `configured` resources have no plugin. `expected` ones have no devices until their plugin
  // comes, and leave in time too if it doesn't.
  DeviceTable(DeviceStock configured, const std::set<std::string>& expected,
              std::function<SteadyTime()> now);

  // The resource has this plugin from now on. Returns the one before, which has to be closed; null:
  // none. FAILED_PRECONDITION: the resource is a configured one. RESOURCE_EXHAUSTED: kMaxPlugins
  // serve or are expected. A full table otherwise drops a resource whose plugin has disconnected:
  // the one that would leave next.
  absl::StatusOr<std::shared_ptr<Plugin>> Put(const std::string& resource,
                                              std::shared_ptr<Plugin> plugin);
  // OK: Put would take one, as far as is known now.
  absl::Status CheckPut(const std::string& resource) const;

  // From the plugin's stream. True: something has changed. A plugin that isn't the resource's any
  // more changes nothing.
  bool SetDevices(const std::string& resource, const Plugin* from, std::vector<Device> devices);
  // The resource's devices are unhealthy, and stay for kStay.
  bool SetGone(const std::string& resource, const Plugin* from);
  // Drops resources whose time is over. True: there were some.
  bool DropExpired();
  // kNever: no resource waits for its plugin.
  SteadyTime NextExpiry() const;

  DeviceStock Stock() const;
  resources::ResourceList Capacity() const;
  resources::ResourceList Allocatable() const;
  bool IsConfigured(const std::string& resource) const;
  // Null: the resource waits for its plugin to register for the first time. UNAVAILABLE: there is
  // no such resource, or its plugin has ended.
  absl::StatusOr<std::shared_ptr<Plugin>> Find(const std::string& resource) const;
  // Whether the resource's plugin, also one that has ended, asks for PreStartContainer.
  // UNAVAILABLE: there is no such resource.
  absl::StatusOr<bool> WantsPreStart(const std::string& resource) const;

 private:
  struct Entry {
    DeviceResource resource;
    bool is_shown = false;
    std::shared_ptr<Plugin> plugin;   // null: hasn't come yet
    std::optional<SteadyTime> leave;  // nullopt: its plugin serves
  };
  absl::Status CheckPutLocked(const std::string& resource) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Null: it is another's by now.
  Entry* FindOf(const std::string& resource, const Plugin* plugin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // When the resource of a disconnected plugin leaves the table. kNever: its plugin serves, or
  // hasn't registered yet.
  static SteadyTime EndOf(const Entry& entry);
  void DropNextToLeave() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  SteadyTime LeaveTime() const;

  const std::function<SteadyTime()> now_;
  const DeviceStock configured_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_DEVICE_TABLE_H_
