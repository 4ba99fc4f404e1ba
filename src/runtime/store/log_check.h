// Whether SQLite will find in a database's log what was committed to it.
//
// SQLite reads a write-ahead log up to the first frame that isn't right and takes this for the end,
// as it must after a power cut. After a kill of the process alone it would be damage, and what was
// acknowledged would be gone without a word.
#ifndef PLIMSOLL_RUNTIME_STORE_LOG_CHECK_H_
#define PLIMSOLL_RUNTIME_STORE_LOG_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "base/fs_root.h"

namespace plimsoll::runtime {

// Looks at <directory>/<name>-wal without SQLite, before SQLite opens the database; for files that
// were last written in this boot. DATA_LOSS names the log and what of it would be lost. How much
// was committed is in the index that SQLite keeps beside the log (<name>-shm), which outlives a
// killed process. Without an index, what is committed to the log after the first wrong frame counts
// as lost, and a wrong last frame as one that was never written whole. Cost: the log is read once;
// checkpoints keep it at some 4 MiB.
absl::Status CheckLog(const FsRoot& directory, const std::string& name);

}  // namespace plimsoll::runtime

#endif  // PLIMSOLL_RUNTIME_STORE_LOG_CHECK_H_
