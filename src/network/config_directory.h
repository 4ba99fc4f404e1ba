// The directory where the administrator, or a network's installer, puts configurations.
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

// The kernel notes what happens in the directory (inotify), and whoever asks has that looked at
// first: so a file that was written before is in force, and nothing is done while nobody asks. A
// directory that is not there (yet), or was replaced by another, is found by its name each time.
// Thread-safe.
class ConfigDirectory {
 public:
  // `path`: absolute; empty: there is none. `tell`: that another configuration is in force, or why
  // none is; may be null.
  ConfigDirectory(FsRoot host, std::string path, std::function<void(const std::string&)> tell);

  // The first valid one by the names of the files that end in .conf, .conflist or .json. NOT_FOUND:
  // there is no such file. FAILED_PRECONDITION: there are, and what is wrong with each.
  absl::StatusOr<std::shared_ptr<const NetworkConfig>> Current();

 private:
  using Found = absl::StatusOr<std::shared_ptr<const NetworkConfig>>;

  void Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether something has happened in the directory since the last call, as far as can be told.
  bool HasChanged(const FsRoot& directory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Watch(const FsRoot& directory) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Found Load(const FsRoot& directory) const;
  void Take(Found found) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const FsRoot host_;
  const std::string path_;
  const std::function<void(const std::string&)> tell_;
  absl::Mutex mutex_;
  UniqueFd watch_ ABSL_GUARDED_BY(mutex_);    // none: look each time
  dev_t device_ ABSL_GUARDED_BY(mutex_) = 0;  // of the directory that is watched
  ino_t inode_ ABSL_GUARDED_BY(mutex_) = 0;
  Found found_ ABSL_GUARDED_BY(mutex_);
  std::string told_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::network

#endif  // PLIMSOLL_NETWORK_CONFIG_DIRECTORY_H_
