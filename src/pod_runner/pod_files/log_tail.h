// The last lines of a container's log, searched backwards: their cost doesn't grow with the log.
#ifndef PLIMSOLL_POD_RUNNER_POD_FILES_LOG_TAIL_H_
#define PLIMSOLL_POD_RUNNER_POD_FILES_LOG_TAIL_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "pod_runner/pod_files/cri_log.h"

namespace plimsoll::pod {

// A part of a log file. `end` is the file's size at the time of the search.
struct LogTail {
  UniqueFd file;  // invalid: there is no file
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t lines = 0;  // wanted lines in it
};

// True for the times whose lines are wanted.
using WantedTime = std::function<bool(absl::Time)>;

// A tail with the last `lines` wanted lines, or all where there are fewer. `flush`: a line without
// an end counts too. Where pieces of one line are more than a mebibyte apart, the first ones may be
// missing. Takes memory for a line, not for the log.
absl::StatusOr<LogTail> FindTail(const FsRoot& root, const std::string& path, uint64_t lines,
                                 bool flush, const WantedTime& wanted);

// Hands over the last `lines` wanted lines of the tail; `reader` goes on from there.
absl::Status ReadTail(LogTail tail, uint64_t lines, bool flush, const WantedTime& wanted,
                      LogReader& reader, const LogReader::Sink& sink);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_POD_FILES_LOG_TAIL_H_
