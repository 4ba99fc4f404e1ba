// The place of a container's log file.
#ifndef PLIMSOLL_RUNTIME_LOG_PLACE_H_
#define PLIMSOLL_RUNTIME_LOG_PLACE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::runtime {

struct LogPlace {
  std::string directory;  // the pod's log directory, without symbolic links
  std::string path;       // of the log; begins with `directory`
};

// Makes the directories of the log file `path`, which begins with `directory`, the pod's log
// directory (empty: the parent directory of `path`). FAILED_PRECONDITION if `directory` or a name
// below is a symlink, if it is one of the kernel's own (/proc), or if the log exists and is no
// regular file: a pod that mounts the directory of logs could redirect the log, or block its writer
// with a FIFO. Symlinks above `directory` are the administrator's. The monitor, which opens the
// log, makes the same checks, and follows no symlink at all in the result. Does nothing for an
// empty path.
absl::StatusOr<LogPlace> PrepareLog(const FsRoot& host, absl::string_view directory,
                                    absl::string_view path);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_LOG_PLACE_H_
