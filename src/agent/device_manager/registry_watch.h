// Plugins that register by a socket of their own in plugins_registry (pluginregistration), where
// the agent is the client.
#ifndef PLIMSOLL_AGENT_DEVICE_MANAGER_REGISTRY_WATCH_H_
#define PLIMSOLL_AGENT_DEVICE_MANAGER_REGISTRY_WATCH_H_

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "agent/device_manager/call_set.h"
#include "agent/device_manager/manager_news.h"
#include "agent/device_manager/plugin.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "base/worker_pool.h"

namespace plimsoll::agent {

// Looks at the directory's sockets, hidden ones excepted. A new one is asked for its plugin. One of
// another type than DevicePlugin, or that can't be taken, gets a refusal and is left alone until it
// is made again; one that doesn't answer is asked again, more and more rarely. When a socket goes,
// so does its plugin.
class RegistryWatch {
 public:
  static constexpr size_t kMaxSockets = 256;

  struct Options {
    FsRoot root;
    std::string directory;  // absolute, beneath `root`; made with mode 0755, as kubelet does
    // Connects to a plugin and takes it; called in the pool.
    std::function<absl::StatusOr<std::shared_ptr<Plugin>>(const std::string& resource,
                                                          const std::string& socket_path)>
        enlist;
    CallSet* calls = nullptr;  // these outlive the watch
    WorkerPool* pool = nullptr;
    ManagerNews* news = nullptr;  // is woken when it is time to look again
  };
  static absl::StatusOr<std::unique_ptr<RegistryWatch>> Start(Options options);
  // Waits for attempts under way.
  ~RegistryWatch();
  RegistryWatch(const RegistryWatch&) = delete;
  RegistryWatch& operator=(const RegistryWatch&) = delete;

  // Changes of the directory: polls readable until Heard.
  int fd() const { return notify_.get(); }
  bool Heard();
  // Returns the time of the next look, if nothing is heard before. Doesn't wait for plugins.
  absl::Time Look();

 private:
  // A socket file, by what it was when it was first seen.
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    int64_t changed_nanoseconds = 0;  // st_ctim: inodes are used again
    bool operator==(const Identity&) const = default;
  };
  struct Seen {
    Identity identity;
    bool is_asked = false;           // an attempt is under way
    bool is_settled = false;         // refused: nothing more to do
    std::shared_ptr<Plugin> plugin;  // taken
    absl::Time next_attempt = absl::InfinitePast();
    absl::Duration wait = absl::Milliseconds(500);  // before the next attempt but one
    std::string told;                               // the last failure that was told
  };

  RegistryWatch(Options options, UniqueFd notify)
      : options_(std::move(options)), notify_(std::move(notify)) {}
  std::map<std::string, Identity> List() const;
  void Forget(Seen& seen) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartDueAttempts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Time NextAttempt() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void Attempt(const std::string& name, const Identity& identity);
  absl::StatusOr<std::shared_ptr<Plugin>> Ask(const std::string& name);
  void Settle(const std::string& name, const Identity& identity,
              absl::StatusOr<std::shared_ptr<Plugin>> taken);

  const Options options_;
  const UniqueFd notify_;  // inotify
  absl::Mutex mutex_;
  std::map<std::string, Seen> seen_ ABSL_GUARDED_BY(mutex_);
  int under_way_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DEVICE_MANAGER_REGISTRY_WATCH_H_
