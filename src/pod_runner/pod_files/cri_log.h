// Container log files in the CRI's format (kubernetes/design-proposals, "CRI logging"):
//
//   2016-10-06T00:17:09.669794202Z stdout F the text of one line
//   2016-10-06T00:17:09.669794203Z stdout P a piece of a line that goes on
#ifndef PLIMSOLL_POD_RUNNER_POD_FILES_CRI_LOG_H_
#define PLIMSOLL_POD_RUNNER_POD_FILES_CRI_LOG_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"

namespace plimsoll::pod {

enum class LogStream { kStdout, kStderr };

struct LogRecord {
  absl::Time time;
  LogStream stream = LogStream::kStdout;
  bool partial = false;  // the line goes on in the stream's next record
  absl::string_view text;
};

// Parses one line without its newline. nullopt: the line has another format.
std::optional<LogRecord> ParseLogLine(absl::string_view line);

// A whole line of output, joined from its pieces.
struct LogLine {
  absl::Time time;  // of the first piece
  LogStream stream = LogStream::kStdout;
  std::string text;
  // The container ended, or the log was cut, before the line's newline.
  bool unfinished = false;
};

// Reads one container's log across rotation, from the start unless Begin names another place. Not
// thread-safe.
class LogReader {
 public:
  using Sink = std::function<void(const LogLine&)>;

  // `root` is "/", `path` absolute. The file may appear later.
  LogReader(FsRoot root, std::string path) : root_(std::move(root)), path_(std::move(path)) {}

  // The most that one Poll reads: a fast writer must not keep other logs waiting.
  static constexpr uint64_t kMaxPollBytes = uint64_t{2} * 1024 * 1024;

  // Hands over the lines that are complete now. True: something was read, so there may be more.
  // After a rotation the rest of the old file comes first. OK without a file.
  absl::StatusOr<bool> Poll(const Sink& sink);
  // Polls until nothing is left to read. While a writer goes on, it ends with what the log held at
  // the call.
  absl::Status ReadAll(const Sink& sink);
  // Goes on in this file at `offset`, where a record begins. The file is the one at the path, or
  // was.
  absl::Status Begin(UniqueFd file, uint64_t offset);
  // Reads at most `bytes` of the current file.
  absl::Status ReadBytes(uint64_t bytes, const Sink& sink) { return Drain(&bytes, sink); }
  // Hands over pieces without an end. After the last Poll.
  void Flush(const Sink& sink);

 private:
  // Each subtracts what it reads from `left`.
  absl::Status Drain(uint64_t* left, const Sink& sink);
  absl::StatusOr<bool> OpenIfReplaced(uint64_t* left, const Sink& sink);
  uint64_t BytesThere() const;
  void Take(absl::string_view line, const Sink& sink);

  FsRoot root_;
  std::string path_;
  UniqueFd file_;
  uint64_t inode_ = 0;
  uint64_t bytes_read_ = 0;  // of all files
  std::string unread_;       // a line without its newline yet
  std::optional<LogLine> pieces_[2];
};

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_POD_FILES_CRI_LOG_H_
