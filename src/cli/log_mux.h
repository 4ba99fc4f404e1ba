// The output of several containers on one terminal.
#ifndef PLIMSOLL_CLI_LOG_MUX_H_
#define PLIMSOLL_CLI_LOG_MUX_H_

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "base/fs_root.h"
#include "cli/line_buffer.h"
#include "pod/cri_log.h"

namespace plimsoll::cli {

// Prefixes every line with who wrote it. Thread-safe; one thread of its own reads the files.
class LogMux {
 public:
  // Called with whole lines, as many as came at once, one call at a time; `is_stderr` is the stream
  // they were written to.
  using Write = LineBuffer::Write;

  // `root` is "/". `colour`: prefixes in a colour of each container's own.
  LogMux(FsRoot root, bool colour, Write write);
  ~LogMux();

  // Room for prefixes of this length from the first line on.
  void ReserveWidth(size_t width);
  // Follows a log from its start. `name` is the prefix; all prefixes are padded alike.
  int Add(const std::string& name, const std::string& path);
  // The container has ended: hands over the rest and forgets the log.
  void Finish(int handle);
  // Writes a line of our own between the containers' lines.
  void Say(absl::string_view line);

 private:
  struct Source {
    std::string name;
    size_t colour = 0;
    pod::LogReader reader;
  };

  void Loop();
  // True: there may be more.
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

#endif  // PLIMSOLL_CLI_LOG_MUX_H_
