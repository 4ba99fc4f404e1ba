// A record of a running program's objects on the machine, so that the next one can remove them if
// this one is killed: a dead FUSE mount, and a hierarchy with groups and threads in it.
#ifndef PLIMSOLL_TESTS_RESCTRLFS_RECORD_H_
#define PLIMSOLL_TESTS_RESCTRLFS_RECORD_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fs_root.h"

namespace plimsoll::resctrlfs {

struct Record {
  std::string hierarchy;    // its name, and the record's
  std::string mount_point;  // absolute
};

// Call it before anything is made. Names the calling process as the owner.
absl::Status WriteRecord(const FsRoot& host, const FsRoot& records, const Record& record);
absl::Status RemoveRecord(const FsRoot& records, const Record& record);

// Unmounts, gives all threads back and removes the hierarchy; OK where nothing is left. A mount
// point that has another mount by now is left alone.
absl::Status CleanUp(const FsRoot& host, const Record& record);

// Calls CleanUp for every record whose process is gone, and removes the record. Goes on after an
// error and returns the first.
absl::Status CleanUpAfterTheDead(const FsRoot& host, const FsRoot& records);

}  // namespace plimsoll::resctrlfs

#endif  // PLIMSOLL_TESTS_RESCTRLFS_RECORD_H_
