// Rotation of a container's log by its owner, for runtimes that write logs and leave their size
// alone. The names are those of the daemon's own rotation: `plimsoll logs` reads both.
//
//   main.0.log      being written
//   main.0.log.1    the one before; .2 is older than .1
//
// Old logs stay plain text (kubelet packs all but the newest of them): their number bounds their
// size, and a reader that has one open goes on.
#ifndef PLIMSOLL_POD_RUNNER_POD_FILES_LOG_ROTATION_H_
#define PLIMSOLL_POD_RUNNER_POD_FILES_LOG_ROTATION_H_

#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll::pod {

struct LogLimits {
  int64_t max_bytes = int64_t{10} << 20;
  int64_t max_files = 5;  // with the one that is being written; at least 2
};

// Rotates the log at the absolute path if it is larger than the limit. `reopen` makes the runtime
// begin a new file at the path (CRI's ReopenContainerLog). True: it was rotated. Where the file is
// missing, a rotation was cut off after its rename: then the log is only reopened. Takes one
// stat(2) where there is nothing to do. After an error of `reopen` the log has its name back unless
// there is a new one, and repeated failures lose no further log. `root` is "/".
absl::StatusOr<bool> RotateLog(const FsRoot& root, const std::string& path, const LogLimits& limits,
                               absl::FunctionRef<absl::Status()> reopen);

// Removes the log at the absolute path and its rotated ones. OK without any.
absl::Status RemoveLogs(const FsRoot& root, const std::string& path);

}  // namespace plimsoll::pod

#endif  // PLIMSOLL_POD_RUNNER_POD_FILES_LOG_ROTATION_H_
