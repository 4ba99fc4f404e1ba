// Merges the output of several containers.
#ifndef PLIMSOLL_CLI_POD_COMMANDS_LOG_MUX_H_
#define PLIMSOLL_CLI_POD_COMMANDS_LOG_MUX_H_

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "cli/terminal/line_buffer.h"
#include "pod_runner/pod_files/cri_log.h"

namespace plimsoll::cli {

// Puts the container's name before each line. Thread-safe; a thread of its own reads the files.
class LogMux {
 public:
  // Called with whole lines, all that arrived together, one call at a time. `is_stderr` names the
  // stream they were written to.
  using Write = LineBuffer::Write;

  // `root` is "/". `colour`: each container's name has a colour of its own.
  LogMux(FsRoot root, bool colour, Write write);
  ~LogMux();

  // Pads names to this width from the first line on.
  void ReserveWidth(size_t width);
  // Follows a log from its start. `name` stands before its lines; all names are padded to one
  // width.
  int Add(const std::string& name, const std::string& path);
  // The container has ended: hands over the rest of the log and forgets it.
  void Finish(int handle);
  // Writes a line of our own, to standard error.
  void Say(absl::string_view line);

 private:
  struct Source {
    std::string name;
    size_t colour = 0;
    pod::LogReader reader;
  };

  void Loop();
  // True: the source may have more.
  bool Drain(Source& source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WriteLine(const Source& source, const pod::LogLine& line)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const FsRoot root_;
  const bool colour_;
  absl::Mutex mutex_;
  LineBuffer out_ ABSL_GUARDED_BY(mutex_);
  std::map<int, std::unique_ptr<Source>> sources_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, size_t> colours_ ABSL_GUARDED_BY(mutex_);
  size_t width_ ABSL_GUARDED_BY(mutex_) = 0;
  int last_handle_ ABSL_GUARDED_BY(mutex_) = 0;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace plimsoll::cli

#endif  // PLIMSOLL_CLI_POD_COMMANDS_LOG_MUX_H_
