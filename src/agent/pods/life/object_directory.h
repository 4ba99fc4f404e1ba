// The ConfigMaps and Secrets of a directory, as last read.
#ifndef PLIMSOLL_AGENT_PODS_LIFE_OBJECT_DIRECTORY_H_
#define PLIMSOLL_AGENT_PODS_LIFE_OBJECT_DIRECTORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "pod_runner/manifest/objects.h"

namespace plimsoll::agent {

// Thread-safe.
class ObjectDirectory {
 public:
  struct Snapshot {
    std::shared_ptr<const pod::ConfigObjects> objects;  // null until the first Read
    uint64_t version = 0;                               // counts the changes; 0: never read
    // Files, or the directory, that have never been readable: objects may be missing for that.
    absl::Status unread;
  };
  // `fault` is called for a file, or the directory, once until its fault changes; OK: it is
  // readable again. It is called by Read, and must not call this.
  using Fault = std::function<void(const std::string& path, const absl::Status& fault)>;
  // `root` is "/" and outlives this; `path` is absolute.
  ObjectDirectory(const FsRoot& root, std::string path, Fault fault)
      : root_(root), path_(std::move(path)), fault_(std::move(fault)) {}

  const std::string& path() const { return path_; }
  // Reads the directory. A file that can't be read, or holds a mistake, stands for what it held
  // before; so do all files while the directory is missing.
  Snapshot Read();
  Snapshot Latest() const;

 private:
  // By path.
  using Texts = std::map<std::string, std::string>;
  // The file's text, or the one of before; adds nothing where there is neither.
  void ReadFile(const std::string& path, Texts& texts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Use(Texts texts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tell(const std::string& path, const absl::Status& fault)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const FsRoot& root_;
  const std::string path_;
  const Fault fault_;
  mutable absl::Mutex mutex_;
  Texts texts_ ABSL_GUARDED_BY(mutex_);                              // usable ones
  std::map<std::string, std::string> told_ ABSL_GUARDED_BY(mutex_);  // faults, by path
  Snapshot latest_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_PODS_LIFE_OBJECT_DIRECTORY_H_
