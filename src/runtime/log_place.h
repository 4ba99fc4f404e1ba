// The place of a container's log file.
#ifndef PLIMSOLL_RUNTIME_LOG_PLACE_H_
#define PLIMSOLL_RUNTIME_LOG_PLACE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::runtime {

// Makes the directories of the log file `path`, which begins with `directory`, the pod's log
// directory (empty: the parent directory of `path`). FAILED_PRECONDITION if a name below
// `directory` is a symlink, or if the log exists and is no regular file: a pod that mounts the
// directory of logs could redirect the log, or block its writer with a FIFO. The monitor, which
// opens the log, makes the same checks. Does nothing for an empty path.
absl::Status PrepareLog(const FsRoot& host, absl::string_view directory, absl::string_view path);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_LOG_PLACE_H_
