// Reports changes in a directory.
#ifndef PLIMSOLL_AGENT_DIRECTORY_WATCH_H_
#define PLIMSOLL_AGENT_DIRECTORY_WATCH_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/unique_fd.h"
#include "linux/quiet_watch.h"

namespace plimsoll::agent {

class DirectoryWatch {
 public:
  struct Options {
    std::string path;  // absolute
    absl::Duration look_anyway = absl::Minutes(1);
    absl::Duration quiet = absl::Milliseconds(100);  // without changes before a look
    // Called in the watch's thread: at the start, after each burst of changes of the directory's
    // files (inotify), and after `look_anyway` without any. While the directory is missing, or
    // can't be watched, that is the pace at which it is looked at.
    std::function<void()> look;
  };
  // Errors of inotify. A missing directory is no error.
  static absl::StatusOr<std::unique_ptr<DirectoryWatch>> Start(Options options);
  // Waits for a look under way.
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

 private:
  DirectoryWatch(Options options, UniqueFd notify)
      : options_(std::move(options)), notify_(std::move(notify)) {}
  bool Hear();
  absl::Time Look();

  const Options options_;
  const UniqueFd notify_;
  std::unique_ptr<linux::QuietWatch> watch_;  // last: its thread uses all of the above
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_DIRECTORY_WATCH_H_
