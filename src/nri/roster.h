// The plugins that are there, and those that should be.
#ifndef PLIMSOLL_NRI_ROSTER_H_
#define PLIMSOLL_NRI_ROSTER_H_

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "nri/config.h"
#include "nri/nri.h"
#include "nri/plugin_connection.h"

namespace plimsoll::nri {

using PluginList = std::vector<std::shared_ptr<PluginConnection>>;

// Thread-safe.
class Roster {
 public:
  explicit Roster(const NriSettings& config);

  // RESOURCE_EXHAUSTED: there are enough connections, or enough without a name.
  absl::Status CheckRoom() const;
  void Add(std::shared_ptr<PluginConnection> plugin);
  void Remove(const PluginConnection* plugin);
  // Names a plugin that registers. ALREADY_EXISTS: a living connection has this name, or it is that
  // of a plugin which the daemon starts.
  absl::Status Register(PluginConnection& plugin, const PluginName& name,
                        const std::string& nri_version);
  // A plugin that the daemon starts; it is reported even while it isn't there.
  void ExpectPreInstalled(const PluginName& name);
  void CountRestart(const PluginName& name);
  // To be called after each step of a plugin.
  void Changed();

  PluginList All() const;
  // The plugins that get events, by index and then name.
  PluginList Ready() const;
  // There is a plugin that has registered, or one is required.
  bool IsActive() const { return active_.load(); }
  // There is no plugin that has registered.
  bool IsEmpty() const { return registered_.load() == 0; }
  // UNAVAILABLE names the required plugins that aren't ready.
  absl::Status CheckRequired() const;
  std::shared_ptr<PluginCounts> CountsOf(const PluginName& name);
  // The counts of the connected plugin of this full name; null: there is none. For any thread: it
  // takes no reference to the connection, which could be the last one (see PluginConnection).
  std::shared_ptr<PluginCounts> CountsOfConnected(const std::string& name) const;
  std::vector<PluginReport> Report() const;

 private:
  struct Expected {
    bool pre_installed = false;
    int restarts = 0;
    std::shared_ptr<PluginCounts> counts = std::make_shared<PluginCounts>();
  };

  // `name`: a key of expected_.
  bool IsRequired(const std::string& name) const;
  // A required base name that a pre-installed plugin has.
  bool IsCovered(const std::string& name) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ChangedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::string> MissingLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<PluginCounts> CountsOfLocked(const PluginName& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const NriSettings config_;
  mutable absl::Mutex mutex_;
  PluginList all_ ABSL_GUARDED_BY(mutex_);
  // By full name, or by the name in the configuration for a required one.
  std::map<std::string, Expected> expected_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> active_{false};
  std::atomic<size_t> registered_{0};
};

}  // namespace plimsoll::nri

#endif  // PLIMSOLL_NRI_ROSTER_H_
