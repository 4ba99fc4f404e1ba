// The end of a container's log, found from the end: of a log of gigabytes the last lines cost no
// more than those of a short one.
#ifndef PLIMSOLL_POD_LOG_TAIL_H_
#define PLIMSOLL_POD_LOG_TAIL_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fs_root.h"
#include "base/unique_fd.h"
#include "pod/cri_log.h"

namespace plimsoll::pod {

// A part of a log file, up to what was its end when it was looked for.
struct LogTail {
  UniqueFd file;  // invalid: there is none
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t lines = 0;  // that are wanted
};

// Of which time lines are wanted.
using WantedTime = std::function<bool(absl::Time)>;

// A tail that has the last `lines` wanted lines, or all where there are fewer. `flush`: a line that
// never ended counts too. Of a line whose pieces are further apart than a mebibyte the first ones
// may be missing. Takes memory for a line, not for the log.
absl::StatusOr<LogTail> FindTail(const FsRoot& root, const std::string& path, uint64_t lines,
                                 bool flush, const WantedTime& wanted);

// Hands over `lines` lines at most, the last that are wanted; `reader` goes on from there.
absl::Status ReadTail(LogTail tail, uint64_t lines, bool flush, const WantedTime& wanted,
                      LogReader& reader, const LogReader::Sink& sink);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_LOG_TAIL_H_
