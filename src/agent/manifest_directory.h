// The directory of manifest files, watched.
#ifndef PLIMSOLL_AGENT_MANIFEST_DIRECTORY_H_
#define PLIMSOLL_AGENT_MANIFEST_DIRECTORY_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/pods/agent_pods.h"
#include "base/unique_fd.h"
#include "linux/quiet_watch.h"

namespace plimsoll::agent {

// Reads every file of the directory but hidden ones, and again after each change (inotify) and
// after `look_anyway`. A file that can't be read asks for the pods that it asked for before; so do
// all files while the directory is missing.
class ManifestDirectory {
 public:
  using PodsOfFile = std::map<PodKey, pod::PodObject>;
  using Files = std::map<std::string, PodsOfFile>;
  struct Options {
    std::string path;  // absolute
    absl::Duration look_anyway = absl::Seconds(20);
    absl::Duration quiet = absl::Milliseconds(100);  // without changes before a look
    // Both are called in the watch's thread. `unread`: files that could not be read since the
    // start; what they asked for before is not known here. A `fault` is reported once until the
    // file changes; an OK status: the file is readable again. `path`: of the file or the directory.
    std::function<void(Files files, std::set<std::string> unread)> tell;
    std::function<void(const std::string& path, const absl::Status& fault)> fault;
  };

  // Errors of inotify. A missing directory is no error.
  static absl::StatusOr<std::unique_ptr<ManifestDirectory>> Start(Options options);
  // Waits for a call under way.
  ~ManifestDirectory();
  ManifestDirectory(const ManifestDirectory&) = delete;
  ManifestDirectory& operator=(const ManifestDirectory&) = delete;

  static constexpr size_t kMaxFileBytes = 1024 * 1024;
  static constexpr size_t kMaxFiles = 1000;

 private:
  ManifestDirectory(Options options, UniqueFd notify)
      : options_(std::move(options)), notify_(std::move(notify)) {}

  bool Hear();
  void Look();
  absl::StatusOr<Files> Read();
  // The pods of a file; parses it only if it changed.
  absl::StatusOr<PodsOfFile> Parse(const std::string& path, const std::string& text) const;
  void KeepAsBefore(const std::string& path, Files& files,
                    std::map<std::string, std::string>& texts);
  void Fault(const std::string& path, const absl::Status& fault);

  const Options options_;
  const UniqueFd notify_;
  // Used by the watch's thread.
  int watched_ = -1;
  Files files_;                                // as last told
  std::set<std::string> unread_;               // likewise
  std::map<std::string, std::string> texts_;   // of the files in `files_`, to parse changes only
  std::map<std::string, std::string> faults_;  // told, by path
  std::unique_ptr<linux::QuietWatch> watch_;   // last: its thread uses all of the above
};

}  // namespace plimsoll::agent

#endif  // PLIMSOLL_AGENT_MANIFEST_DIRECTORY_H_
