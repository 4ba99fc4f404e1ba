// The directory of network configurations, filled by the administrator or a network's installer.
#ifndef PLIMSOLL_NETWORK_CONFIG_DIRECTORY_H_
#define PLIMSOLL_NETWORK_CONFIG_DIRECTORY_H_

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "network/config.h"

namespace plimsoll::network {

// The kernel records changes (inotify) of the directory and of those below it whose plugins belong
// to a list. Each call processes them first: a file written before the call counts, and idle
// time costs nothing. A directory that is missing, or was replaced, is looked up by name each time.
// Thread-safe.
class ConfigDirectory {
 public:
  // `path`: absolute; empty: no directory. `tell`: called when another configuration is in force,
  // or with the reason why none is; may be null.
  ConfigDirectory(FsRoot host, std::string path, std::function<void(const std::string&)> tell);

  // The first valid one in the order of file names; only .conf, .conflist and .json count. A list's
  // plugins include those of the directory NAME/ beside it, unless it refuses them.
  // NOT_FOUND: no such file. FAILED_PRECONDITION: all of them are faulty; names the faults.
  absl::StatusOr<std::shared_ptr<const NetworkConfig>> Current();

 private:
  using Found = absl::StatusOr<std::shared_ptr<const NetworkConfig>>;

  void Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True when a watched directory changed since the last call, or when that is unknown.
  bool HasChanged(const FsRoot& directory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Watches the directory and forgets all others.
  void Watch(const FsRoot& directory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AddWatch(const FsRoot& directory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Found Load(const FsRoot& directory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<NetworkConfig> LoadFile(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The files `network`/*.conf, in the order of their names.
  absl::StatusOr<std::vector<PluginFile>> FilesOf(const std::string& network)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Take(Found found) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const FsRoot host_;
  const std::string path_;
  const std::function<void(const std::string&)> tell_;
  absl::Mutex mutex_;
  UniqueFd watch_ ABSL_GUARDED_BY(mutex_);    // invalid: load at each call
  dev_t device_ ABSL_GUARDED_BY(mutex_) = 0;  // of the watched directory
  ino_t inode_ ABSL_GUARDED_BY(mutex_) = 0;
  Found found_ ABSL_GUARDED_BY(mutex_);
  std::string told_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_CONFIG_DIRECTORY_H_
