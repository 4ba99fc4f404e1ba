// Where a container's log goes.
#ifndef PLIMSOLL_RUNTIME_LOG_PLACE_H_
#define PLIMSOLL_RUNTIME_LOG_PLACE_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/fs_root.h"

namespace plimsoll::runtime {

// Makes the directories of the log `path`, which begins with `directory`, the pod's log directory
// (empty: the log's own). FAILED_PRECONDITION when something below that directory is a symlink, or
// when the log is there and no regular file: a pod that mounts the directory of logs could lead us
// elsewhere, or have us wait for a FIFO. The monitor, which opens the log, holds to the same.
// Nothing to do for an empty path.
absl::Status PrepareLog(const FsRoot& host, absl::string_view directory, absl::string_view path);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_LOG_PLACE_H_
