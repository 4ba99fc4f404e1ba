// A check that SQLite will find all commits in a database's log.
//
// SQLite reads a write-ahead log up to the first wrong frame and takes this for the end, as it must
// after a power cut. If only the process was killed, a wrong frame is damage, and acknowledged
// commits would be lost silently.
#ifndef PLIMSOLL_RUNTIME_STORE_LOG_CHECK_H_
#define PLIMSOLL_RUNTIME_STORE_LOG_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "base/fs_root.h"

namespace plimsoll::runtime {

// Checks <directory>/<name>-wal without SQLite, before SQLite opens the database; for files last
// written in this boot. DATA_LOSS names the log and the lost part. SQLite's index beside the log
// (<name>-shm), which outlives a killed process, says how much was committed. Without an index,
// commits after the first wrong frame count as lost, and a wrong last frame as one that was never
// completed. Cost: the log is read once; checkpoints keep it at some 4 MiB.
absl::Status CheckLog(const FsRoot& directory, const std::string& name);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STORE_LOG_CHECK_H_
